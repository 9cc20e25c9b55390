import { CERTIFICATE_FILE, isBindingName, isOwnSecretName, KEY_FILE, TLS_LABEL, TRUST_FILE } from "#api/names.ts";
import { type NamedSecret, namedSecrets } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isSameData } from "#base/hash.ts";
import type { Observed } from "#base/observed.ts";
import { consentText } from "#certificates/consent.ts";
import { mayBeShown } from "#certificates/facts.ts";
import { ownSecretText } from "#cluster-tls/check/own-secrets.ts";
import type { Secret } from "#kube/kinds.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/** Refuses names that look like IPv6 addresses and are invalid: the schema rules check only the characters. */
export function extraNameRefusals({ spec }: EtcdCluster): readonly Refusal[] {
  return (spec.tls?.client?.extraNames ?? []).flatMap((name, n) =>
    name.includes(":") && !URL.canParse(`http://[${name}]`)
      ? [
          {
            field: `spec.tls.client.extraNames[${n}]`,
            message: `it is ${name}; it must be a DNS name or an IP address`,
          },
        ]
      : [],
  );
}

/** The Secrets that are newly named. @param before the stored object; undefined for a new cluster */
export function newlyNamed({ spec }: EtcdCluster, before: EtcdCluster | undefined): readonly NamedSecret[] {
  const known = before === undefined ? [] : namedIn(before.spec);
  return namedIn(spec).filter((each) => !known.some((other) => isSameData(each, other)));
}

function namedIn(spec: EtcdCluster["spec"]): readonly NamedSecret[] {
  return (["peer", "client"] as const).flatMap((side) => namedSecrets(spec, side));
}

/**
 * Refuses names of Secrets that the operator itself fills, for the cluster or for an EtcdUser. Stored names are
 * accepted.
 */
export function ownSecretRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const { name: of } = cluster.metadata;
  return newlyNamed(cluster, before).flatMap(({ field, name }) => {
    if (isOwnSecretName(of, name)) return [{ field, message: `it is ${name}: ${ownSecretText(of)}` }];
    const asUser = "the operator uses such names for Secrets of EtcdUsers; it must be another name";
    return isBindingName(name) ? [{ field, message: `it is ${name}: ${asUser}` }] : [];
  });
}

const KEYS = [CERTIFICATE_FILE, KEY_FILE, TRUST_FILE];

/**
 * Warns of what a named Secret lacks, which may be created after the cluster. For a Secret without the label nothing
 * else is revealed: the author of an EtcdCluster may not be allowed to read it.
 */
export function secretWarnings({ field, name }: NamedSecret, seen: Observed<Secret>): readonly string[] {
  if (seen.is === "unknown") return [];
  const must = `it must have ${KEYS.slice(0, -1).join(", ")} and ${TRUST_FILE}`;
  if (seen.is === "absent")
    return [`${field} is ${name}: this Secret does not exist yet; ${must}, and the label ${TLS_LABEL}: "true"`];
  if (!mayBeShown(seen.value)) return [`${field} is ${name}: ${consentText(seen.value.metadata.namespace, name)}`];
  const lacking = KEYS.filter((key) => !Object.hasOwn(seen.value.data ?? {}, key));
  return lacking.length === 0 ? [] : [`${field} is ${name}: this Secret has no ${lacking.join(" and no ")}; ${must}`];
}
