import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { whyNotFlags } from "#etcd/flags.ts";

// Why the spec is checked here, too: the webhook may be unavailable. Invalid etcd flags would cost the first member a
// restart, and a template that touches reserved fields could cost data.

/**
 * Why the spec is invalid, whatever the members run: sentences with the field, its value and what is allowed.
 * @param version the release that members would run @param cluster its name
 */
export function whyNotSpec(
  { etcd, tls, podTemplate }: Pick<EtcdClusterSpec, "etcd" | "podTemplate"> & { readonly tls?: object | undefined },
  version: string,
  cluster: string,
): readonly string[] {
  const flags = whyNotFlags(etcd?.extraArgs ?? {}, version).map((why) => `spec.etcd.extraArgs: ${why}`);
  return [...flags, ...whyNotTemplate(podTemplate, cluster, tls !== undefined)];
}
