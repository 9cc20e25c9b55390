import { Agent, request } from "undici";

// Not verified: health endpoints of the components have self-signed certificates, and receive no secrets.
const agent = new Agent({ connect: { rejectUnauthorized: false }, allowH2: false });
const ANSWER_MS = 2_000;

/** Reason why the URL does not answer with 200, as a clause; undefined when it does. */
export async function httpMissing(url: string): Promise<string | undefined> {
  try {
    const answer = await request(url, { dispatcher: agent, signal: AbortSignal.timeout(ANSWER_MS) });
    const text = await answer.body.text();
    return answer.statusCode === 200 ? undefined : `${url} answers ${answer.statusCode} ${text.trim().slice(0, 200)}`;
  } catch (thrown) {
    return `${url} does not answer (${thrown instanceof Error ? thrown.message : thrown})`;
  }
}

/** Closes the connections, so that the process can end. */
export async function closeHealthConnections(): Promise<void> {
  await agent.destroy();
}
