import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";

// Resumable uploads, which fake-gcs-server lacks. A session can be asked for its progress, keeps a part of the bytes
// before its connection broke, and can be cancelled. All other requests pass through. Source: "Resumable uploads" in
// Google's documentation.

const QUARTER_MIB = 256 * 1024;

interface Session {
  /** Number of bytes that the backing server has. */
  has: number;
  isDone: boolean;
}

export interface GCSSessions {
  readonly port: number;
  /** How often sessions with data were asked for their progress. */
  readonly asked: number;
  /** Keeps only the first half of the next bytes, and breaks the connection. */
  breakNext(): void;
  /** Sessions that were started, and not finished, refused or cancelled. */
  readonly unfinished: readonly string[];
  stop(): Promise<void>;
}

export async function startGCSSessions(serverPort: number): Promise<GCSSessions> {
  const sessions = new Map<string, Session>();
  let asked = 0;
  let isNextBroken = false;
  const server = createServer(async (incoming, response) => {
    try {
      const id = new URL(incoming.url ?? "", "http://x").searchParams.get("upload_id");
      if (id === null) return await through(incoming, response);
      const session = sessions.get(id) ?? { has: 0, isDone: false };
      sessions.set(id, session);
      if (incoming.method === "DELETE") {
        sessions.delete(id);
        return void response.writeHead(499).end();
      }
      if (incoming.headers["content-range"]?.startsWith("bytes */") && session.has > 0) asked++;
      await taken(incoming, response, session);
    } catch {
      response.destroy(); // the connection broke, on one side or the other
    }
  });

  const ask = (incoming: IncomingMessage, headers: Record<string, string>, body: Buffer) =>
    new Promise<{ status: number; headers: Record<string, string>; body: Buffer }>((resolve, reject) => {
      const { method, url: path } = incoming;
      const all = {
        ...(incoming.headers as Record<string, string>),
        ...headers,
        "content-length": String(body.length),
      };
      const sent = request({ port: serverPort, host: "127.0.0.1", method, path, headers: all }, async (answer) => {
        const { bytes } = await read(answer);
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers as Record<string, string>, body: bytes });
      });
      sent.on("error", reject).end(body);
    });

  const piped = (incoming: IncomingMessage, response: ServerResponse) => {
    const { method, url: path, headers } = incoming;
    const sent = request({ port: serverPort, host: "127.0.0.1", method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    sent.end();
  };

  const through = async (incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.method === "GET") return piped(incoming, response);
    const { bytes, isWhole } = await read(incoming);
    if (!isWhole) return void response.destroy();
    const { status, headers, body } = await ask(incoming, {}, bytes);
    const id = new URL(headers.location ?? "", "http://x").searchParams.get("upload_id");
    if (id !== null) sessions.set(id, { has: 0, isDone: false });
    const { "transfer-encoding": _, ...rest } = headers;
    response.writeHead(status, { ...rest, "content-length": body.length }).end(body);
  };

  const taken = async (incoming: IncomingMessage, response: ServerResponse, session: Session) => {
    const all = await read(incoming);
    const isBroken = isNextBroken && all.bytes.length > 0;
    const bytes = isBroken ? all.bytes.subarray(0, all.bytes.length / 2) : all.bytes;
    const isWhole = all.isWhole && !isBroken;
    const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(incoming.headers["content-range"] ?? "");
    if (range === null) return void response.writeHead(400).end();
    const [, from, total] = range;
    const whole = isWhole ? bytes : bytes.subarray(0, bytes.length - (bytes.length % QUARTER_MIB));
    if (!session.isDone && from !== undefined && Number(from) !== session.has)
      return void response.writeHead(503).end();
    const isLast = isWhole && total !== "*" && session.has + whole.length === Number(total);
    if (!session.isDone && (whole.length > 0 || isLast)) {
      const end = session.has + whole.length;
      const sent = end === session.has ? "*" : `${session.has}-${end - 1}`;
      const { status } = await ask(incoming, { "content-range": `bytes ${sent}/${isLast ? end : "*"}` }, whole);
      if (![200, 308].includes(status)) {
        session.isDone = true; // the precondition failed
        return void response.writeHead(status).end();
      }
      session.has = end;
      session.isDone = isLast;
    }
    if (isBroken) {
      isNextBroken = false;
      return void response.destroy();
    }
    if (session.isDone) response.writeHead(200).end("{}");
    else response.writeHead(308, session.has === 0 ? {} : { range: `bytes=0-${session.has - 1}` }).end();
  };

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as { port: number }).port,
    get asked() {
      return asked;
    },
    breakNext() {
      isNextBroken = true;
    },
    get unfinished() {
      return [...sessions].filter(([, { isDone }]) => !isDone).map(([id]) => id);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** The received bytes, even if incomplete. */
async function read(message: IncomingMessage): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
    return { bytes: Buffer.concat(chunks), isWhole: message.complete };
  } catch {
    return { bytes: Buffer.concat(chunks), isWhole: false };
  }
}
