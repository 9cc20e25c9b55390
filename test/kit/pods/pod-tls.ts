import { createHash, X509Certificate } from "node:crypto";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { askedIn } from "#api/revision.ts";
import type { ClusterIdentity, EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { newAuthority, newLeaf, type Usage } from "#certificates/issue.ts";
import { wantedNames } from "#certificates/names.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { EtcdVersionText } from "#kit/etcd/etcd.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";
import { type Drafted, PodEtcd, type PodMember, type SecretData } from "./pod-etcd.ts";

// A cluster of members as in their pods (pod-etcd.ts), with certificates like those that the operator issues.

const NAMESPACE = "foo";
export const CLUSTER = "my-etcd";
const HOUR_MS = 3_600_000;

export const PEER_SECRET = "my-etcd-peer-tls";
export const SERVER_SECRET = "my-etcd-server-tls";

interface Wish {
  readonly names?: readonly string[];
  readonly commonName?: string | undefined;
  readonly usages?: readonly Usage[];
  /** When the certificate expires, in milliseconds from now. */
  readonly endsInMs?: number;
}

const BOTH: readonly Usage[] = ["serverAuth", "clientAuth"];

/** A CA of this test. */
export interface TestAuthority {
  readonly pem: string;
  issue(wish?: Wish): Promise<KeyPair>;
}

export async function testAuthority(): Promise<TestAuthority> {
  const now = Date.now();
  const pair = await newAuthority("test", { fromMs: now - 2 * HOUR_MS, untilMs: now + 24 * HOUR_MS });
  return {
    pem: pair.certificate,
    issue: async ({ names, commonName, usages = BOTH, endsInMs = HOUR_MS } = {}) =>
      await newLeaf(pair, {
        names: names ?? wantedNames(NAMESPACE, CLUSTER),
        usages,
        commonName,
        fromMs: now - HOUR_MS,
        untilMs: now + endsInMs,
      }),
  };
}

export function secretOf({ certificate, key }: KeyPair): SecretData {
  return { "tls.crt": certificate, "tls.key": key };
}

/** A cluster with certificates, before any member runs. */
export interface SecureEtcd {
  readonly pods: PodEtcd;
  readonly identity: ClusterIdentity;
  readonly members: readonly PodMember[];
  /** The snapshot of an operator that observed before any object existed. */
  readonly cluster: ClusterSnapshot;
  readonly peerCA: TestAuthority;
  readonly clientCA: TestAuthority;
  /** An application's certificate. */
  readonly client: KeyPair;
}

export async function planSecureEtcd(options: {
  version: EtcdVersionText;
  members: 1 | 3;
  tls?: Partial<NonNullable<EtcdPeerSpec["tls"]>>;
  clientCertificates?: "Required" | "NotRequired";
  /** The scheme of peer URLs from the beginning; default: https. */
  born?: "http";
}): Promise<SecureEtcd> {
  const { version, clientCertificates = "Required" } = options;
  const [peerCA, clientCA] = await Promise.all([testAuthority(), testAuthority()]);
  const asked = options.born === "http" ? { peer: { provider: "None" } } : {};
  const spec = clusterSpecSchema.parse({ replicas: options.members, version, tls: asked });
  const metadata = { namespace: NAMESPACE, name: CLUSTER, uid: "uid-of-cluster", resourceVersion: "1" };
  const cluster = newCluster({ metadata, spec } as EtcdCluster, []);
  const identity = newIdentity(cluster);
  const pods = new PodEtcd();
  pods.secrets.set(PEER_SECRET, secretOf(await peerCA.issue()));
  pods.secrets.set(SERVER_SECRET, secretOf(await clientCA.issue()));
  const tls = {
    peer: { secretName: PEER_SECRET, trust: peerCA.pem, ...(options.born && { scheme: options.born }) },
    client: { secretName: SERVER_SECRET, trust: clientCA.pem, clientCertificates },
    ...options.tls,
  };
  const members = identity.initialMembers.map(({ name }) => {
    const draft = newPeer(cluster, identity, name) as Drafted;
    return pods.member({ ...draft, spec: { ...draft.spec, ...askedIn(spec, tls) } });
  });
  const client = await clientCA.issue({ names: [], commonName: "shop", usages: ["clientAuth"] });
  return { pods, identity, members, cluster, peerCA, clientCA, client };
}

/** The operator's endpoint of a member. */
export function endpointOf(etcd: SecureEtcd, member: PodMember, pair: KeyPair = etcd.client): Endpoint {
  const { certificate: cert, key } = pair;
  return { address: member.clientAddress, tls: { ca: etcd.clientCA.pem, cert, key, serverName: member.place.host } };
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** SHA-256 of the server's certificate. */
  readonly shown: string;
}

interface Question {
  readonly at: string;
  readonly path: string;
  readonly ca: string;
  readonly serverName: string;
  readonly pair?: KeyPair | undefined;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: { readonly minVersion?: "TLSv1.3"; readonly maxVersion?: "TLSv1.2"; readonly ciphers?: string };
}

/**
 * Sends a request over a new TLS connection.
 * @throws Error when one side rejects the other's certificate
 */
export async function ask({ at, path, ca, serverName, pair, body, headers = {}, tls = {} }: Question): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const options = {
      ca,
      servername: serverName,
      agent: false,
      method: body === undefined ? "GET" : "POST",
      timeout: 5_000,
      headers,
      ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }),
      ...tls,
    } as const;
    const asked = request(`https://${at}${path}`, options, (response) => {
      const shown = (response.socket as TLSSocket).getPeerCertificate(false).fingerprint256;
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text, shown }));
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer within 5 s")));
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export function fingerprintOf({ certificate }: KeyPair): string {
  const hex = createHash("sha256").update(new X509Certificate(certificate).raw).digest("hex").toUpperCase();
  return hex.match(/../g)?.join(":") ?? "";
}
