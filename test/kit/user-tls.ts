import { connect } from "node:tls";
import type { UserCluster } from "#kit/e2e.ts";
import type { KubeList, Pod, Secret } from "#kube/kinds.ts";

// What a cluster with TLS shows, as whoever connects to it sees it.

export const MEMBERS = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];

/** What is in a Secret, as texts. */
export async function secretTexts(of: UserCluster, name: string): Promise<Readonly<Record<string, string>>> {
  const { data = {} } = await of.json<Secret>("get", "secret", name);
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
}

export interface Shown {
  readonly fingerprint: string;
  readonly notAfterMs: number;
}

/** What a member shows to who connects with this. */
export async function shownBy(host: string, port: number, identity: Readonly<Record<string, string>>): Promise<Shown> {
  return await new Promise((resolve, reject) => {
    const { "ca.crt": ca, "tls.crt": cert, "tls.key": key } = identity;
    const socket = connect({ host, port, servername: host, ca, cert, key, ALPNProtocols: ["h2"] }, () => {
      const { fingerprint256, valid_to } = socket.getPeerCertificate();
      resolve({ fingerprint: fingerprint256, notAfterMs: Date.parse(valid_to) });
      socket.destroy();
    });
    socket.setTimeout(5_000, () => socket.destroy(new Error("no answer")));
    socket.on("error", reject);
  });
}

/**
 * What each member shows to clients and to the others, by its name and port.
 * @param peerSecret with what members show to each other
 */
export async function allShown(of: UserCluster, peerSecret = "my-etcd-peer-tls"): Promise<ReadonlyMap<string, Shown>> {
  const shown = new Map<string, Shown>();
  for (const [port, name] of [
    [2379, "my-etcd-client"],
    [2380, peerSecret],
  ] as const) {
    const identity = await secretTexts(of, name);
    for (const member of MEMBERS) {
      const host = `${member}.my-etcd.${of.namespace}.svc.cluster.local`;
      shown.set(`${member}:${port}`, await shownBy(host, port, identity));
    }
  }
  return shown;
}

/** By whom a member was started, and how often its etcd was started again. */
export async function lives(of: UserCluster): Promise<readonly string[]> {
  const { items } = await of.json<KubeList<Pod>>("get", "pods", "-l", "etcd.improbable.io/cluster-name=my-etcd");
  return items
    .map(({ metadata, status }) => `${metadata.uid} ${status?.containerStatuses?.map((each) => each.restartCount)}`)
    .sort();
}
