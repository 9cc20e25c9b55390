import { DEFAULTS } from "#api/conversion.ts";
import { amount } from "#api/meaning.ts";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { A_RELEASE, RELEASES } from "#api/release.ts";
import { fieldsOf, whyNotShape } from "#api/shape.ts";
import { providerOf, type Side } from "#api/tls.ts";
import { ETCD_CLUSTERS, type EtcdCluster, type EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import { isMap, mapInText, quoted, record } from "#base/json.ts";

// How can a user ask for the effects of an edit?
//   kubectl annotate etcdcluster my-etcd etcd.improbable.io/dry-run='{"replicas":5,"version":"3.7.3"}'
//   The value is a JSON merge patch of spec, as for `kubectl patch --type=merge`. In it, null removes a field. The
//   operator does not apply the patch.
// What is validated here?
//   Everything that needs no API server: the shape, the release, immutable fields, and fields that exclude each other. `kubectl patch --dry-run=server`
//   with the same patch checks the other rules of the schema.

/** Edit to explain: the edited spec, or why the patch is refused, as a sentence for users. */
export type Edit =
  | { readonly is: "edit"; readonly spec: EtcdClusterSpec }
  | { readonly is: "refused"; readonly why: string };

/**
 * Maximum depth of a merge, more than any shape has. Deeper patches are refused; without a limit they could overflow
 * the stack.
 */
const MAX_DEPTH = 64;

/** Reads the annotation; `undefined` without one. Takes any text, and never throws. */
export function editIn({ metadata, spec }: Pick<EtcdCluster, "metadata" | "spec">): Edit | undefined {
  const text = metadata.annotations?.[DRY_RUN_ANNOTATION];
  if (text === undefined) return undefined;
  const patch = mapInText(text);
  if (patch === undefined) {
    return refused(
      `it is ${quoted(text)}; it must be a JSON object, a merge patch of spec such as {"replicas":5,"version":"3.7.3"}`,
    );
  }
  const known = fieldsOf("EtcdCluster");
  const stranger = Object.keys(patch).find((field) => !known.includes(field));
  if (stranger !== undefined)
    return refused(`it names ${quoted(stranger)}; what it names must be a field of spec: ${known.join(", ")}`);
  const edited = withDefaults(record(merged(spec, patch, 0)));
  const why = whyNotEdit(edited, spec);
  return why === undefined ? { is: "edit", spec: edited as EtcdClusterSpec } : refused(`with it, ${why}`);
}

function refused(why: string): Edit {
  return { is: "refused", why };
}

/** JSON merge patch: https://www.rfc-editor.org/rfc/rfc7386 */
export function merged(target: unknown, patch: unknown, depth = 0): unknown {
  if (!isMap(patch) || depth > MAX_DEPTH) return patch;
  const before = isMap(target) ? target : {};
  const kept = Object.entries(before).filter(([key]) => !Object.hasOwn(patch, key));
  const given = Object.entries(patch).filter(([, value]) => value !== null);
  const after = given.map(([key, value]) => {
    const own = Object.hasOwn(before, key) ? before[key] : undefined;
    return [key, merged(own, value, depth + 1)] as const;
  });
  return Object.fromEntries([...kept, ...after]);
}

/**
 * Fills in the API server's defaults for fields that the patch removed.
 */
function withDefaults(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { ...filled(spec, { podTemplate: {}, ...DEFAULTS.EtcdCluster }), ...withInnerDefaults(spec) };
}

/** Fills in the defaults that are missing, at each level of the defaults. */
function filled(own: Readonly<Record<string, unknown>>, defaults: Readonly<Record<string, unknown>>) {
  const entries = Object.entries(defaults).map(([field, fallback]): [string, unknown] => {
    const value = Object.hasOwn(own, field) ? own[field] : fallback;
    return [field, isMap(value) && isMap(fallback) ? filled(value, fallback) : value];
  });
  return { ...own, ...Object.fromEntries(entries) };
}

/** Fills in the API server's defaults within fields that have no default themselves. */
function withInnerDefaults({ replacement, networkPolicy }: Readonly<Record<string, unknown>>) {
  return {
    ...(isMap(replacement) && { replacement: { policy: "WhenLost", ...replacement } }),
    ...(isMap(networkPolicy) && { networkPolicy: { metrics: { policy: "Listed" }, ...networkPolicy } }),
  };
}

function whyNotEdit(edited: Readonly<Record<string, unknown>>, before: EtcdClusterSpec): string | undefined {
  const why = whyNotShape(edited, ETCD_CLUSTERS.kind);
  if (why !== undefined) return why;
  if (!new RegExp(RELEASES).test(String(edited.version)))
    return `spec.version is ${quoted(edited.version)}; it must be ${A_RELEASE}`;
  const moved = changedField(record(edited.storage), before.storage);
  if (moved !== undefined) return `spec.storage.${moved} differs; it must stay as it is after creation`;
  return whyNotRules(edited as EtcdClusterSpec, before) ?? whyTlsSwitched(edited, before);
}

/** The size is compared by value, as by the schema. */
function changedField(now: Readonly<Record<string, unknown>>, before: Readonly<Record<string, unknown>>) {
  return Object.keys({ ...before, ...now }).find((field) =>
    field === "size" ? amount(now.size) !== amount(before.size) : !isSameData(now[field], before[field]),
  );
}

/** Repeats CEL rules of the schema that no other check of the operator repeats. */
function whyNotRules({ bootstrap, replacement, etcd }: EtcdClusterSpec, before: EtcdClusterSpec): string | undefined {
  if (bootstrap !== undefined && !isSameData(bootstrap, before.bootstrap))
    return "spec.bootstrap differs; it can only be removed after creation";
  if (replacement?.policy === "Never" && replacement.after !== undefined)
    return "spec.replacement has after and the policy Never; it may have after only with policy WhenLost";
  const quota = etcd?.backendQuota;
  if (quota !== undefined && (quota.mode === "Fixed") !== (quota.size !== undefined))
    return "spec.etcd.backendQuota does not fit; it must have a size with mode Fixed, and none with mode Auto";
  const { mode, period, revisions } = etcd?.autoCompaction ?? {};
  if ((mode === "Periodic") !== (period !== undefined) || (mode === "Revision") !== (revisions !== undefined))
    return "spec.etcd.autoCompaction does not fit; it must have period with mode Periodic, revisions with mode Revision, and neither with mode None";
  return undefined;
}

/** Repeats the schema's CEL rule that compares spec.tls with its old value. */
function whyTlsSwitched(edited: Pick<EtcdClusterSpec, "tls">, before: EtcdClusterSpec): string | undefined {
  const sides: readonly Side[] = ["peer", "client"];
  const lost = sides.find((each) => edited.tls === undefined && providerOf(before, each) !== "None");
  if (lost === undefined) return undefined;
  return `spec.tls is missing, but members use TLS (${lost}); set it as it was, or set provider None to turn TLS off`;
}
