/**
 * Holds the parts of a document against the shapes that OpenAPI gives them, so that all else can
 * rely on these.
 */
import { type Document, follow, METHODS, refuseAt, type Writable, warnAt } from "./document.js";
import { isObject, pointerTo } from "./source-file.js";

interface Shape {
  /** The value is a list, and this is the shape of its items. */
  readonly list?: Shape;
  /** The shape of every member. */
  readonly map?: Shape;
  readonly members?: Readonly<Record<string, Shape>>;
  /**
   * The value may be a Reference Object, which ignores what stands beside `$ref` except for these
   * two texts.
   */
  readonly isReferable?: true;
}

const referable = (members: Shape["members"] = {}): Shape => ({ members, isReferable: true });
const object: Shape = {};
const example = referable();
const header = referable({ content: { map: object }, examples: { map: example } });
const media: Shape = {
  members: {
    examples: { map: example },
    encoding: { map: { members: { headers: { map: header } } } },
  },
};
const content: Shape = { map: media };
const parameter = referable({ content, examples: { map: example } });
const body = referable({ content });
const response = referable({ content, headers: { map: header }, links: { map: referable() } });
const servers: Shape = { list: object };
const callback: Shape = { map: {}, isReferable: true };
const operation: Shape = {
  members: {
    parameters: { list: parameter },
    requestBody: body,
    responses: { map: response },
    callbacks: { map: callback },
    security: { list: object },
    servers,
  },
};
const pathItem: Shape = {
  members: {
    parameters: { list: parameter },
    servers,
    ...Object.fromEntries(METHODS.map((method) => [method.toLowerCase(), operation])),
  },
};
// The operations of a callback may have callbacks.
Object.assign(callback.map ?? {}, pathItem);
const root: Shape = {
  members: {
    info: object,
    servers,
    security: { list: object },
    paths: { map: pathItem },
    webhooks: { map: pathItem },
    components: {
      members: {
        schemas: object,
        parameters: { map: parameter },
        requestBodies: { map: body },
        responses: { map: response },
        headers: { map: header },
        examples: { map: example },
        links: { map: referable() },
        callbacks: { map: callback },
        securitySchemes: { map: referable() },
        pathItems: { map: pathItem },
        // Those of OpenAPI 3.2.
        mediaTypes: { map: media },
      },
    },
    // Those of Swagger 2.0.
    definitions: object,
    parameters: { map: parameter },
    responses: { map: response },
    securityDefinitions: { map: object },
  },
};

/**
 * Reports what has another shape. A key with nothing behind it, which is `null` in YAML, is read as
 * an empty part, except for a method, which then lacks its operation. So the document holds no part
 * of another shape afterwards.
 */
export function checkStructure(document: Document): void {
  const check = (holder: Writable, key: string, shape: Shape, pointer: string): void => {
    // In OpenAPI 3.2 a media type may be a reference, which only schemas are later on.
    if (shape === media && Object.hasOwn(Object(holder[key]), "$ref"))
      holder[key] = document.findings.attempt(() => follow(document, holder[key], pointer).value);
    const value = holder[key];
    const hasShape = shape.list === undefined ? isObject(value) : Array.isArray(value);
    if (hasShape) checkInside(value as object, shape, pointer);
    if (hasShape || value === undefined || (value !== null && key.startsWith("x-"))) return;
    if (value !== null || shape === operation) {
      const message = `it must be ${shape.list === undefined ? "an object" : "a list"}`;
      refuseAt(document, "document_invalid", pointer, message);
    }
    holder[key] = shape.list === undefined ? {} : [];
  };
  const checkInside = (value: object, shape: Shape, pointer: string): void => {
    const { list, map, members = {} } = shape;
    const isReference = shape.isReferable && "$ref" in value;
    if (isReference) checkBeside(document, value, pointer);
    const all = list ?? map;
    const keys = isReference ? [] : Object.keys(all === undefined ? members : value);
    for (const key of keys) {
      const inner = all ?? members[key];
      if (inner && Object.hasOwn(value, key))
        check(value as Writable, key, inner, pointerTo(pointer, key));
    }
  };
  checkInside(document.root, root, "");
}

function checkBeside(document: Document, value: object, pointer: string): void {
  const isUsed = (key: string) => /^(?:\$ref$|summary$|description$|x-)/.test(key);
  const ignored = Object.keys(value).filter((key) => !isUsed(key));
  if (ignored.length === 0) return;
  const message =
    `what stands beside $ref is ignored: ${ignored.join(", ")}. ` +
    "Write it where the reference leads";
  warnAt(document, "part_ignored", pointer, message);
}
