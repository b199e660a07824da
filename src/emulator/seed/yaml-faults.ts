// What is wrong with a text that is no YAML, in words of our own: the parser's quote the text, and that may be a secret.
import type { ErrorCode } from "yaml";

export const yamlFaults: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: "an alias has an anchor or a tag",
  BAD_ALIAS: "an alias or anchor is not right, or names nothing",
  BAD_COLLECTION_TYPE: "a tag does not fit what it stands before",
  BAD_DIRECTIVE: "a directive is not right",
  BAD_DQ_ESCAPE: "an escape sequence in double quotes is not right",
  BAD_INDENT: "the indentation is not right",
  BAD_PROP_ORDER: "an anchor or tag stands where it cannot",
  BAD_SCALAR_START: "a value begins with a character that needs quotes around it",
  BLOCK_AS_IMPLICIT_KEY: "a key is followed by another on its line, or by a list",
  BLOCK_IN_FLOW: "a block stands inside brackets or braces",
  DUPLICATE_KEY: "keys must be unique",
  IMPOSSIBLE: "it cannot be read here",
  KEY_OVER_1024_CHARS: "a key is too long",
  MISSING_CHAR:
    "a character is missing: a closing quote or bracket, a comma, a colon, or the space after one",
  MULTILINE_IMPLICIT_KEY: "a key is longer than its line, or its quote or bracket is not closed",
  MULTIPLE_ANCHORS: "a value has more than one anchor",
  MULTIPLE_DOCS: "the file holds more than one document",
  MULTIPLE_TAGS: "a value has more than one tag",
  NON_STRING_KEY: "a key must be a string: braces around a key make it none",
  RESOURCE_EXHAUSTION: "it is nested too deeply",
  TAB_AS_INDENT: "a tab is no indentation",
  TAG_RESOLVE_FAILED: "a tag is unknown, or the value is not what it says",
  UNEXPECTED_TOKEN: "something stands where it cannot, for instance after | or >, or a bracket too many",
};
