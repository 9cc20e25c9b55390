import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { OperatorError } from "#base/error.ts";
import { type Endpoint, tlsOptions } from "./endpoint.ts";
import { tlsFailureText } from "./tls-failure.ts";

type Path = "/health" | "/metrics" | "/readyz";

/** `/metrics` has over a hundred kilobytes in etcd 3.7; more than this, in bytes, is no etcd. */
const MOST_BYTES = 4 * 1024 ** 2;

/** What is told of an answer that is a refusal, in characters. */
const MOST_TOLD = 1_000;

/** @param address host and port of the metrics URL, which is plain HTTP; the rest as in `askPort` */
export async function askMetricsPort(
  address: string,
  path: Path,
  signal: AbortSignal,
  onLine?: (line: string) => void,
): Promise<void> {
  await askPort({ address }, path, signal, onLine);
}

/**
 * Asks a member over HTTP, over a connection of its own: such questions are rare.
 * @param endpoint its metrics port; or its client port, where `/readyz` is answered, too
 * @param onLine gets every line as it comes; nothing else is kept
 * @throws OperatorError EtcdUnavailable without a whole answer of status 200, also when the signal aborts; or what `onLine` throws
 */
export async function askPort(
  endpoint: Endpoint,
  path: Path,
  signal: AbortSignal,
  onLine: (line: string) => void = () => undefined,
): Promise<void> {
  try {
    const answer = await open(endpoint, path, signal);
    if (answer.statusCode === 200) return await readLines(answer, onLine);
    const said: string[] = [];
    await readLines(answer, (line) => void said.push(line));
    throw new Error(`status ${answer.statusCode}: ${said.join(" ").slice(0, MOST_TOLD)}`);
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
    // Errors after the head of the answer reach its reader, too.
    request.on("response", resolve).on("error", reject);
  });
}

async function readLines(answer: IncomingMessage, onLine: (line: string) => void): Promise<void> {
  let bytes = 0;
  let rest = "";
  for await (const chunk of answer.setEncoding("latin1") as AsyncIterable<string>) {
    bytes += chunk.length; // The text is Latin-1, which has a byte for each character.
    if (bytes > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`);
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
  if (rest !== "") onLine(rest);
}
