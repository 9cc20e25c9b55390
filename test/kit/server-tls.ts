import { join } from "node:path";
import { credentialsDir } from "#kit/store-server.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";

/** A server's certificate for `localhost`, as files, and the authority that says so, as PEM. */
export interface ServerTLS {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export async function newServerTLS(): Promise<ServerTLS> {
  const authority = await newAuthority(Date.now());
  const { certificate, key } = await newServing(authority, "localhost", Date.now());
  const folder = credentialsDir({ "tls.crt": certificate, "tls.key": key });
  return { cert: join(folder, "tls.crt"), key: join(folder, "tls.key"), ca: authority.certificate };
}
