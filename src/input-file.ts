/**
 * Reads files that people name, which may be pipes and have no end. Every part that runs in Node
 * may use it.
 */
import { constants, createReadStream, openSync, realpathSync, statSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";

/** Opens a file. Aborted, the stream ends with an error. */
export function openInput(path: string, signal?: AbortSignal): Readable {
  const stream = openPipe(path) ?? createReadStream(path);
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

/** The path without links. The pipe of a process substitution has only the given one. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/**
 * A pipe that is opened as other files are waits for its writer in a thread, and the process could
 * not end before that.
 */
function openPipe(path: string): Socket | undefined {
  try {
    if (!statSync(path).isFIFO()) return undefined;
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: true, writable: false });
  } catch {
    // The stream that is opened instead reports why it fails.
    return undefined;
  }
}

/**
 * Reads a stream to its end. Returns `undefined` if that has more than `most` bytes, of which few
 * more are read.
 */
export async function readAtMost(
  source: AsyncIterable<Uint8Array>,
  most: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
