import { whyNotNetworkPolicy } from "#api/network-peers.ts";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { hasTls } from "#api/tls.ts";
import { whyNotFlags } from "#etcd/flags.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { Lack } from "#restore/source.ts";

// Why is the cluster's spec judged before anything is read?
//   It cannot be changed any more, and no cluster comes of what is refused. Claims would be made and filled for nothing, and only then
//   somebody would hear of a word that is misspelt.

/** Why no cluster could be made of `spec.clusterTemplate`: all sentences name the field; `undefined` when one can. */
export function lackOfTemplate({ restore }: RestoreSnapshot): Lack | undefined {
  const { clusterName, spec } = restore.spec.clusterTemplate;
  const why = [
    ...whyNotNetworkPolicy(spec.networkPolicy).map(({ field, message }) => `${field}: ${message}`),
    ...whyNotFlags(spec.etcd?.extraArgs ?? {}, spec.version).map((flag) => `spec.etcd.extraArgs: ${flag}`),
    ...whyNotTemplate(spec.podTemplate, clusterName, hasTls(spec)),
  ];
  if (why.length === 0) return undefined;
  const message = why.map((sentence) => `spec.clusterTemplate.${sentence}`).join("; ");
  return { reason: "SpecRefused", message, isFinal: true };
}
