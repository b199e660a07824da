/** The error of the generator: a stable code, and the place in the document. */
export type GenerateErrorCode =
  | "document_unreadable"
  | "document_not_yaml"
  | "document_version_unsupported"
  | "document_invalid"
  | "reference_missing"
  | "reference_external"
  | "reference_circular"
  | "operation_id_missing"
  | "operation_id_duplicate"
  | "status_invalid"
  | "schema_unsupported"
  | "not_shown_invalid"
  | "peer_missing"
  | "peer_unsuitable";

export interface GenerateErrorDetails {
  /** File name of the document. */
  readonly document?: string | undefined;
  /** JSON pointer (RFC 6901) into the document. */
  readonly pointer?: string | undefined;
  readonly cause?: unknown;
}

/** Thrown by `generate` and `checkGenerated`. `document` and `pointer` name the place, if there is one. */
export class GenerateError extends Error {
  override readonly name = "GenerateError";
  readonly code: GenerateErrorCode;
  readonly document: string | undefined;
  readonly pointer: string | undefined;

  constructor(code: GenerateErrorCode, message: string, details: GenerateErrorDetails = {}) {
    const place = [details.document, details.pointer].filter(Boolean).join("#");
    super(
      place === "" ? message : `${place}: ${message}`,
      "cause" in details ? { cause: details.cause } : {},
    );
    this.code = code;
    this.document = details.document;
    this.pointer = details.pointer;
  }
}
