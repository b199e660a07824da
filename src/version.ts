/** The version of this package, as the User-Agent tells it; a test holds it against package.json. */
export const version = "0.1.0";
