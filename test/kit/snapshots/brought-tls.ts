import { TLS_LABEL } from "#api/names.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { kubectl, type UserCluster } from "#kit/e2e/e2e.ts";

const DAY_MS = 86_400_000;

/** `spec.tls` with Secrets that people provide. */
export const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
  },
} as const;
/** The Secret with an application's certificate when people provide all Secrets. */
export const THEIR_APPLICATION = "their-application";

/**
 * Creates all Secrets that people provide for a cluster of three members, signed by the people's own CA.
 * @param given.application common name of the application's certificate, which etcd may use as the user name
 */
export async function bringSecrets(
  { namespace }: UserCluster,
  { application = "an application" }: { application?: string } = {},
): Promise<void> {
  const times = { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + 30 * DAY_MS };
  const theirs = await newAuthority("their CA", times);
  const members = [0, 1, 2].map((ordinal) => `my-etcd-${ordinal}.my-etcd.${namespace}.svc`);
  const service = `my-etcd-client.${namespace}.svc`;
  await bring(namespace, theirs, "their-peer", { names: members, usages: ["serverAuth", "clientAuth"] });
  await bring(namespace, theirs, "their-server", {
    // The full name is for clients without search domains in their resolver, the address for etcdctl in a member's
    // container.
    names: [...members, service, `${service}.cluster.local`, "127.0.0.1"],
    usages: ["serverAuth", "clientAuth"],
  });
  await bring(namespace, theirs, "their-operator", { commonName: "the operator", names: [], usages: ["clientAuth"] });
  await bring(namespace, theirs, THEIR_APPLICATION, {
    commonName: application,
    names: [],
    usages: ["clientAuth"],
  });
}

type Wish = Pick<Parameters<typeof newLeaf>[1], "names" | "usages" | "commonName">;

/** A Secret that people fill. */
async function bring(namespace: string, theirs: KeyPair, name: string, wish: Wish): Promise<void> {
  const times = { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + 10 * DAY_MS };
  const { certificate, key } = await newLeaf(theirs, { ...wish, ...times });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name, labels: { [TLS_LABEL]: "true" } },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": certificate, "tls.key": key, "ca.crt": theirs.certificate },
  };
  await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(secret) });
}
