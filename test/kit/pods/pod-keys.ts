import { type PodPart, SIDECAR } from "#kit/tables/pod-power.ts";

/**
 * A volume with a member's key pair.
 * @param change overrides of the Secret's source
 */
function pairOf(volume: string, change: object = {}) {
  const items = ["tls.crt", "tls.key"].map((key) => ({ key, path: key }));
  const trust = { path: "ca.crt", fieldRef: { fieldPath: "metadata.annotations['a']" } };
  const sources = [{ secret: { name: "my-etcd-peer-tls", items, ...change } }, { downwardAPI: { items: [trust] } }];
  return { volumes: [{ name: volume, projected: { sources } }] };
}

function mounting(volume: string) {
  return { volumeMounts: [{ name: volume, mountPath: "/tls" }] };
}

const SHOWN = "of Secrets only the key pair that a member shows";
const ITS_KEYS = "only etcd gets at the member's keys";

/** Uses of Secrets in a member's pods, allowed or forbidden. */
export const TLS_IN_PODS: readonly (PodPart & { readonly says?: string })[] = [
  ...["etcd-peer-tls", "etcd-client-tls"].flatMap((volume) => [
    {
      what: `mount ${volume} into etcd`,
      spec: { ...pairOf(volume), containers: [{ name: "etcd", ...mounting(volume) }] },
    },
    {
      what: `have a sidecar see etcd's processes, with ${volume}`,
      spec: { ...pairOf(volume), shareProcessNamespace: true },
      says: "share no processes where the member has keys",
    },
    {
      what: `have a sidecar see ${volume}`,
      spec: { ...pairOf(volume), containers: [{ ...SIDECAR, ...mounting(volume) }] },
      says: ITS_KEYS,
    },
    {
      what: `have an init container see ${volume}`,
      spec: { ...pairOf(volume), initContainers: [{ ...SIDECAR, ...mounting(volume) }] },
      says: ITS_KEYS,
    },
    ...["my-etcd-peer-ca", "my-etcd-client-ca", "other-peer-ca"].map((name) => ({
      what: `have the key of the CA ${name} in ${volume}`,
      spec: pairOf(volume, { name }),
      says: SHOWN,
    })),
    { what: `have a whole Secret in ${volume}`, spec: pairOf(volume, { items: null }), says: SHOWN },
    {
      what: `have another key in ${volume}`,
      spec: pairOf(volume, { items: [{ key: "password", path: "tls.key" }] }),
      says: SHOWN,
    },
    {
      what: `have the key under another name in ${volume}`,
      spec: pairOf(volume, { items: [{ key: "tls.key", path: "password" }] }),
      says: SHOWN,
    },
  ]),
  { what: "have a key pair in another volume", spec: pairOf("more"), says: SHOWN },
];
