import { TOO_LARGE } from "#api/beyond.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, GROUP, OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { admissionPolicyNamed } from "./policy.ts";

// Why does this policy protect the annotation with the fields that v1alpha1 lacks?
//   The API server checks an object by the schema of its written version, and stores the conversion's result unchecked.
//   A forged annotation would so bypass the schema of v1beta1.
// What may clients do with it?
//   Keep it as it was read, or remove it, in both versions. Only conversions create and change it.
// Why may it not be removed when it contains spec.tls, or another field that protects the cluster?
//   An old manifest of v1alpha1 lacks these fields without meaning to remove them. Without networkPolicy the ports are
//   open, without replacement members are replaced that should not be, without backendQuota etcd may refuse writes.
//   Clients of v1beta1 can remove them explicitly.
// When may an object not be written as v1alpha1?
//   When the annotation is too large, v1alpha1 does not show all fields, and a write would lose the rest.

export const NOT_BY_HAND = `metadata.annotations[${BEYOND}] is written by conversions alone; leave it as it was read, remove it to drop the fields that only v1beta1 has, or write v1beta1`;

export const NOT_ALL_SHOWN = `metadata.annotations[${BEYOND}] is "${TOO_LARGE}": v1alpha1 does not show all fields of the object, and writing it would drop the rest; write v1beta1`;

export const TLS_STAYS = `metadata.annotations[${BEYOND}] is missing, and it holds spec.tls: without it the cluster would lose TLS; leave it as it was read, or write v1beta1`;

export const PROTECTION_STAYS = `metadata.annotations[${BEYOND}] is missing, and it holds auth, networkPolicy, replacement or etcd.backendQuota of spec, which would be lost. Leave it as it was read, or write v1beta1`;

/** Pattern of the fields that protect a cluster: without them it is open, or stops writes. */
const PROTECTION = '"(auth|backendQuota|networkPolicy|replacement)":[{]';

const PLAIN_SIDE = '"(client|peer)":[{][^{}]*"provider":"None"[^{}]*[}]';
/**
 * Pattern of a spec.tls without TLS on both sides. Other fields may be in between; a side without TLS contains no
 * braces.
 */
const PLAIN = `"tls":[{][^{}]*${PLAIN_SIDE}[^{}]*${PLAIN_SIDE}[^{}]*[}]`;

/** The policy and its binding. It applies to all clients, and needs no webhook. */
export function conversionPolicy(labels: Readonly<Record<string, string>>) {
  const annotation = (object: string) => `${object}.metadata.?annotations[?'${BEYOND}']`;
  // A search in the JSON text of a removed annotation suffices, as quotes inside of strings are escaped. Objects in
  // deletion are exempt, so that finalizers can always be removed.
  const isKept = `request.kind.version != 'v1alpha1' || request.resource.resource != '${ETCD_CLUSTERS.plural}' || ${annotation("object")}.hasValue() || has(object.metadata.deletionTimestamp)`;
  return admissionPolicyNamed(`${OPERATOR}-conversion`, labels, {
    matchConstraints: {
      // Exact: the policy must see the version that the client wrote, without a conversion.
      matchPolicy: "Exact",
      resourceRules: [
        {
          apiGroups: [GROUP],
          apiVersions: ["v1alpha1", "v1beta1"],
          resources: [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES].flatMap(
            ({ plural }) => [plural, `${plural}/status`],
          ),
          operations: ["CREATE", "UPDATE"],
        },
      ],
    },
    matchConditions: [
      {
        name: "annotation",
        expression: `${annotation("object")}.hasValue() || (request.operation == 'UPDATE' && ${annotation("oldObject")}.hasValue())`,
      },
    ],
    validations: [
      {
        expression: `!${annotation("object")}.hasValue() || (request.operation == 'UPDATE' && ${annotation("oldObject")} == ${annotation("object")})`,
        message: NOT_BY_HAND,
        reason: "Invalid",
      },
      {
        expression: `request.kind.version != 'v1alpha1' || ${annotation("object")}.orValue('') != '${TOO_LARGE}'`,
        message: NOT_ALL_SHOWN,
        reason: "Invalid",
      },
      {
        expression: `${isKept} || !${annotation("oldObject")}.orValue('').contains('"tls":{') || ${annotation("oldObject")}.orValue('').matches('${PLAIN}')`,
        message: TLS_STAYS,
        reason: "Invalid",
      },
      {
        expression: `${isKept} || !${annotation("oldObject")}.orValue('').matches('${PROTECTION}')`,
        message: PROTECTION_STAYS,
        reason: "Invalid",
      },
    ],
  });
}
