import { parsedIn } from "#certificates/pem.ts";

/** What a name may be made of so that OpenSSL's words for it are the name itself. */
const PLAIN = /^[A-Za-z0-9._:@/ -]+$/;

/**
 * By whom etcd takes whoever shows the first of these certificates: its common name.
 * @returns "" when it has none; undefined when it is no certificate, or its name has letters that are not told apart safely
 */
export function commonNameIn(pem: string): string | undefined {
  const [shown] = parsedIn(pem);
  if (shown === undefined) return undefined;
  // Node says `undefined` of a subject that is empty. Of several names etcd takes the last one.
  const lines = ((shown.subject as string | undefined) ?? "").split("\n").filter((line) => line.startsWith("CN="));
  const name = lines.at(-1)?.slice("CN=".length) ?? "";
  return name === "" || PLAIN.test(name) ? name : undefined;
}
