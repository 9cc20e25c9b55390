import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { hasTls } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import type { Refusal } from "#webhooks/admission-review.ts";
import { triedSpec } from "#webhooks/checks/trial.ts";

/** Each message begins with its field. */
const FIELD = /^((?:[^\s[]|\[[^\]]*\])+) (.*)$/s;

/** Refuses reserved parts of the pod template. @param before the stored object; undefined for a new cluster */
export function templateRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const { metadata, spec } = cluster;
  const isSame = before !== undefined && isSameData(spec.podTemplate, before.spec.podTemplate);
  if (isSame && hasTls(spec) === hasTls(before.spec)) return [];
  // A new cluster without spec.tls gets TLS before its first pod is created.
  const tls = before === undefined ? hasTls(triedSpec(cluster)) : hasTls(spec);
  return whyNotTemplate(spec.podTemplate, metadata.name, tls).map((sentence) => {
    const [, field = "spec.podTemplate", message = sentence] = FIELD.exec(sentence) ?? [];
    return { field, message };
  });
}
