import {
  CERTIFICATE_FILE,
  clientAuthorityName,
  KEY_FILE,
  peerAuthorityName,
  ROTATE_CA_ANNOTATIONS,
} from "#api/names.ts";
import { providerOf, type Side } from "#api/tls.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { controllerOf, SECRETS, type Secret } from "#kube/kinds.ts";
import type { PeoplesParts } from "./people.ts";
import { pairIn } from "./tls.ts";

// What people do to Secrets with certificates, and how they repair them.

type Data = Readonly<Record<string, string>>;
type Parts = Pick<PeoplesParts, "api" | "random" | "tell">;

/** How a person may spoil a Secret with a key pair, given another key pair. */
export const SPOILT: readonly ((data: Data, other: Data) => Data)[] = [
  ({ [KEY_FILE]: _, ...half }) => half,
  (data) => ({ ...data, [CERTIFICATE_FILE]: Buffer.from("no certificate").toString("base64") }),
  (data, other) => ({ ...data, [KEY_FILE]: other[KEY_FILE] ?? "" }),
  (_, other) => other,
];

export function deleteSecret({ api, random, tell }: Parts): boolean {
  const secret = random.pick(api.list(SECRETS));
  if (secret === undefined) return false;
  tell(`a person deletes Secret ${secret.metadata.name}`);
  api.delete("person", SECRETS, secret.metadata);
  return true;
}

export function spoilSecret({ api, random, tell }: Parts): boolean {
  const secret = random.pick(api.list(SECRETS));
  const other = random.pick(api.list(SECRETS));
  const spoil = random.pick(SPOILT);
  if (secret === undefined || other === undefined || spoil === undefined) return false;
  tell(`a person spoils Secret ${secret.metadata.name} in way ${SPOILT.indexOf(spoil)}`);
  api.update("person", SECRETS, secret, { data: spoil(secret.data ?? {}, other.data ?? {}) });
  return true;
}

/** A person asks for a rotation of CAs, or withdraws that. */
export function askForRotation({ api, random, tell }: Parts): boolean {
  const cluster = random.pick(api.list(ETCD_CLUSTERS));
  if (cluster?.spec.tls === undefined) return false;
  const { peer, client } = ROTATE_CA_ANNOTATIONS;
  const { [peer]: _, [client]: __, ...others } = cluster.metadata.annotations ?? {};
  const wishes = [
    { [peer]: "1" },
    { [client]: "1" },
    { [peer]: "1", [client]: "1" },
    { [peer]: "2", [client]: "2" },
    {},
  ];
  const wish = random.pick(wishes) ?? {};
  tell(`a person asks for a CA rotation of ${cluster.metadata.name}: ${JSON.stringify(wish)}`);
  const annotations = { ...others, ...wish };
  return api.update("person", ETCD_CLUSTERS, cluster, { metadata: { ...cluster.metadata, annotations } }) !== cluster;
}

/** Whether every member of the cluster must trust this certificate. */
function isTrusted({ api }: Pick<Parts, "api">, { metadata }: EtcdCluster, side: Side, secret: Secret): boolean {
  const [shown] = pairIn(secret)?.chain ?? [];
  const peers = api.list(ETCD_PEERS).filter((peer) => controllerOf(peer)?.uid === metadata.uid);
  return (
    shown !== undefined &&
    peers.every(({ spec }) => parsedIn(spec.tls?.[side]?.trust ?? "").some((each) => idOf(each) === idOf(shown)))
  );
}

/** Restores CA Secrets that are spoilt, or that members do not trust, to the last content that members trusted. */
export function putAuthoritiesBack(parts: Pick<Parts, "api" | "tell">): void {
  const { api, tell } = parts;
  for (const cluster of api.list(ETCD_CLUSTERS)) {
    const { namespace, name, uid } = cluster.metadata;
    for (const [side, secretName] of [
      ["peer", peerAuthorityName(name)],
      ["client", clientAuthorityName(name)],
    ] as const) {
      if (providerOf(cluster.spec, side) !== "Operator") continue;
      const live = api.find(SECRETS, { namespace, name: secretName });
      if (live !== undefined && isTrusted(parts, cluster, side, live)) continue;
      const earlier = api
        .log(SECRETS)
        .map(({ object }) => object as Secret)
        .filter((each) => each.metadata.name === secretName && controllerOf(each)?.uid === uid)
        .findLast((each) => isTrusted(parts, cluster, side, each));
      if (earlier === undefined) continue;
      tell(`a person puts Secret ${secretName} back`);
      const { labels, annotations, ownerReferences } = earlier.metadata;
      const metadata = { namespace, name: secretName, labels, annotations, ownerReferences };
      if (live === undefined) api.create("person", SECRETS, { ...earlier, metadata } as never);
      else api.update("person", SECRETS, live, { data: earlier.data ?? {} });
    }
  }
}
