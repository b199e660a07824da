/** What a call needs when it sends or receives anything but JSON and simple forms. Loaded lazily, in one piece. */
export { answerReader } from "./answer.js";
export { contentOf, cookieHeader, querySerializerOf } from "./content.js";
