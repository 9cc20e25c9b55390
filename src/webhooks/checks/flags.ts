import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { type ExtraArgs, flagWarnings, whyNotFlags } from "#etcd/flags.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

const FIELD = "spec.etcd.extraArgs";

/** Refuses flags that the release does not accept. @param before the stored spec; undefined for a new cluster */
export function flagRefusals(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly Refusal[] {
  if (isAsBefore(spec, before)) return [];
  return whyNotFlags(flagsOf(spec), spec.version).map((message) => ({ field: FIELD, message }));
}

/** Warns of flags that a later release will not accept. @param before the stored spec; undefined for a new cluster */
export function unwiseFlags(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): readonly string[] {
  if (isAsBefore(spec, before)) return [];
  return flagWarnings(flagsOf(spec), spec.version).map((sentence) => `${FIELD}: ${sentence}`);
}

/** The release is compared, too, because each accepts other flags. */
function isAsBefore(spec: EtcdClusterSpec, before: EtcdClusterSpec | undefined): boolean {
  return before?.version === spec.version && isSameData(flagsOf(spec), flagsOf(before));
}

function flagsOf({ etcd }: EtcdClusterSpec): ExtraArgs {
  return etcd?.extraArgs ?? {};
}
