import { join } from "node:path";
import { newLeaf } from "#certificates/issue.ts";
import { newAuthority } from "#webhooks/certificate/issue.ts";
import { credentialsDir } from "./store-server.ts";

/** Files with a server's certificate and key, and the CA that signed it, as PEM. */
export interface ServerTLS {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

const HOUR_MS = 3_600_000;

export async function newServerTLS(names: readonly string[] = ["localhost"]): Promise<ServerTLS> {
  const authority = await newAuthority(Date.now());
  const validity = { fromMs: Date.now() - HOUR_MS, untilMs: Date.now() + HOUR_MS };
  const { certificate, key } = await newLeaf(authority, { names, usages: ["serverAuth"], ...validity });
  const folder = credentialsDir({ "tls.crt": certificate, "tls.key": key });
  return { cert: join(folder, "tls.crt"), key: join(folder, "tls.key"), ca: authority.certificate };
}
