/** What `bivariant emulate` uses of the generator: the operations of documents, to serve them. */
export { type DocumentedApi, readApi } from "./emit/emulation.js";
