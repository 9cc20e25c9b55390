import { connect } from "node:tls";
import type { KubeList, Pod, Secret } from "#kube/kinds.ts";
import type { UserCluster } from "./e2e.ts";

// The certificates of a cluster with TLS, as a client that connects sees them.

export const MEMBERS = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];

/** Content of a Secret, as texts. */
export async function secretTexts(of: UserCluster, name: string): Promise<Readonly<Record<string, string>>> {
  const { data = {} } = await of.json<Secret>("get", "secret", name);
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
}

export interface Shown {
  readonly fingerprint: string;
  readonly notAfterMs: number;
}

/** The certificate that a member presents to a client with this identity. */
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
 * The certificates of all members for clients and peers, by port and name.
 * @param peerSecret with the members' peer certificate
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

/** Uid of each member's pod, and the restart count of its container. */
export async function lives(of: UserCluster): Promise<readonly string[]> {
  const { items } = await of.json<KubeList<Pod>>("get", "pods", "-l", "etcd.improbable.io/cluster-name=my-etcd");
  return items
    .map(({ metadata, status }) => `${metadata.uid} ${status?.containerStatuses?.map((each) => each.restartCount)}`)
    .sort();
}
