import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { OperatorError } from "#base/error.ts";
import { type Endpoint, tlsOptions } from "./endpoint.ts";
import { tlsFailureText } from "./tls-failure.ts";

type Path = "/health" | "/metrics" | "/readyz";

/**
 * Longest answer in bytes. etcd 3.7's `/metrics` has over 100 kB. Larger: more time spent on a hostile member's answer.
 */
const MOST_BYTES = 4 * 1024 ** 2;

/**
 * Longest line in bytes; etcd's have less than 300. Larger: more CPU, since each chunk is appended to the partial line.
 */
const MOST_LINE_BYTES = 16 * 1_024;

/** Bytes that are read of an error answer, and characters of it that are kept for the message. */
const MOST_REFUSAL_BYTES = 64 * 1_024;
const MOST_CHARACTERS = 1_000;

/** Calls `askPort` over plain HTTP. @param address host and port of the metrics URL */
export async function askMetricsPort(
  address: string,
  path: Path,
  signal: AbortSignal,
  onLine?: (line: string) => void,
): Promise<void> {
  await askPort({ address }, path, signal, onLine);
}

/**
 * Sends a GET request to a member, over a new connection: such requests are rare.
 * @param endpoint the metrics port; for `/readyz` also the client port
 * @param onLine called with every line of the answer as it arrives
 * @throws OperatorError EtcdUnavailable without a complete answer of status 200, or when the signal aborts; or what
 *   `onLine` throws
 */
export async function askPort(
  endpoint: Endpoint,
  path: Path,
  signal: AbortSignal,
  onLine: (line: string) => void = () => undefined,
): Promise<void> {
  try {
    const answer = await open(endpoint, path, signal);
    if (answer.statusCode === 200) {
      await readLines(answer, MOST_BYTES, onLine);
      signal.throwIfAborted(); // Without Content-Length, an aborted body looks complete.
      return;
    }
    let text = "";
    await readLines(answer, MOST_REFUSAL_BYTES, (line) => {
      if (text.length < MOST_CHARACTERS) text += ` ${line}`;
    });
    throw new Error(`status ${answer.statusCode}:${text.slice(0, MOST_CHARACTERS)}`);
  } catch (thrown) {
    if (thrown instanceof OperatorError) throw thrown;
    const { address, tls } = endpoint;
    const why = tlsFailureText(thrown, tls?.secretName) ?? (thrown instanceof Error ? thrown.message : String(thrown));
    throw new OperatorError("EtcdUnavailable", `GET ${path} at ${address}: ${why}`, { cause: thrown });
  }
}

function open({ address, tls }: Endpoint, path: Path, signal: AbortSignal): Promise<IncomingMessage> {
  const options = { agent: false, signal };
  return new Promise((resolve, reject) => {
    const request =
      tls === undefined
        ? http.get(`http://${address}${path}`, options)
        : https.get(`https://${address}${path}`, { ...options, ...tlsOptions(tls) });
    // etcd sends no 1xx responses. A hostile member that sends them endlessly would keep a CPU busy until the deadline.
    request.on("information", ({ statusCode }) => request.destroy(new Error(`status ${statusCode} before an answer`)));
    // After status 101 Node drops the connection without `response` or `error`, and the signal has no effect any more.
    request.on("close", () => reject(new Error("the connection was closed without an answer")));
    // Errors after the response headers are also thrown to the reader of the body.
    request.on("response", resolve).on("error", reject);
  });
}

async function readLines(answer: IncomingMessage, mostBytes: number, onLine: (line: string) => void): Promise<void> {
  let bytes = 0;
  let rest = "";
  for await (const chunk of answer.setEncoding("latin1") as AsyncIterable<string>) {
    bytes += chunk.length; // Latin-1: one byte per character.
    if (bytes > mostBytes) throw new Error(`more than ${mostBytes} bytes`);
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MOST_LINE_BYTES) throw new Error(`a line of more than ${MOST_LINE_BYTES} bytes`);
    for (const line of lines) onLine(line);
  }
  if (rest !== "") onLine(rest);
}
