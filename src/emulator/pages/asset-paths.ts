// Where the files that pages load are served.
export const STYLESHEET_PATH = "/_emulator/style.css";
export const HOST_SCRIPT_PATH = "/_emulator/host.js";
