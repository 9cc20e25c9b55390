import { createServer, type Server } from "node:http";
import { ensureComponents } from "#dev/components.ts";
import { type StoreServer, startStoreServer } from "#kit/store-server.ts";

/** fake-gcs-server, which speaks Google's JSON API, in memory of its own. It believes everybody. */
export async function startFakeGCS(): Promise<StoreServer> {
  const { "fake-gcs-server": program } = await ensureComponents(["fake-gcs-server"], (_sentence, work) =>
    work(() => {}),
  );
  return await startStoreServer((port) => [
    program,
    "-scheme=http",
    "-host=127.0.0.1",
    `-port=${port}`,
    `-external-url=http://127.0.0.1:${port}`,
    "-backend=memory",
    "-log-level=error",
  ]);
}

/** The half of Google that gives tokens for another identity's (STS). It believes one. */
export interface TokenServer {
  readonly url: string;
  /** How many tokens it gave. */
  readonly given: number;
  stop(): Promise<void>;
}

export async function startTokenServer(believed: string): Promise<TokenServer> {
  let given = 0;
  const server: Server = createServer((request, response) => {
    let form = "";
    request.setEncoding("utf8").on("data", (text) => {
      form += text;
    });
    request.on("end", () => {
      const isKnown = new URLSearchParams(form).get("subject_token") === believed;
      if (isKnown) given++;
      const body = isKnown
        ? { access_token: "token-of-the-tests", token_type: "Bearer", expires_in: 3600, issued_token_type: "x" }
        : { error: "invalid_grant", error_description: "The subject token is not believed." };
      response.writeHead(isKnown ? 200 : 400, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1/token`,
    get given() {
      return given;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A credentials.json of a workload identity: the token of the pod's service account lies in a file. */
export function workloadIdentity(tokenURL: string, tokenFile: string): string {
  return JSON.stringify({
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/tests/providers/tests",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: tokenURL,
    credential_source: { file: tokenFile },
  });
}
