// An answer in JSON whose text is at hand: over HTTP it is written as it is, without the streams that a Response is made of.

export function jsonAnswer(
  value: unknown,
  { status = 200, headers }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Response {
  const all = { "content-type": "application/json", ...headers };
  return new JsonAnswer(JSON.stringify(value), { status, headers: all });
}

/** A Response all the same: the whole of it is made as soon as anybody reads its body. */
export class JsonAnswer extends Response {
  readonly #text: string;
  #whole: Response | undefined;

  constructor(text: string, init: { status: number; headers: HeadersInit }) {
    super(null, init);
    this.#text = text;
  }

  /** The body, unless somebody has begun to read it. */
  get unread(): string | undefined {
    return this.#whole === undefined ? this.#text : undefined;
  }

  /** What leaves the emulator in-process. */
  get whole(): Response {
    this.#whole ??= new Response(this.#text, { status: this.status, headers: super.headers });
    return this.#whole;
  }

  override get headers(): Headers {
    return this.#whole === undefined ? super.headers : this.#whole.headers;
  }

  override get body(): Response["body"] {
    return this.whole.body;
  }

  override get bodyUsed(): boolean {
    return this.whole.bodyUsed;
  }

  override clone(): Response {
    if (this.#whole !== undefined) return this.#whole.clone();
    return new JsonAnswer(this.#text, { status: this.status, headers: this.headers });
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return this.whole.arrayBuffer();
  }

  override blob(): Promise<Blob> {
    return this.whole.blob();
  }

  override formData(): Promise<FormData> {
    return this.whole.formData();
  }

  override json(): Promise<unknown> {
    return this.whole.json();
  }

  override text(): Promise<string> {
    return this.whole.text();
  }
}

/** A Response of the platform's own class. */
export function wholeOf(answer: Response): Response {
  return answer instanceof JsonAnswer ? answer.whole : answer;
}
