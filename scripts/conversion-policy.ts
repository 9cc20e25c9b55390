import { TOO_LARGE } from "#api/beyond.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, GROUP, OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { admissionPolicyNamed } from "./policy.ts";

// The API server checks an object by the schema of the version in which it was written, and stores what the conversion makes of it
// unchecked. What the annotation says would so get past the schema of v1beta1. So it is only ever what a conversion has made of an object
// that was checked: whoever writes v1alpha1 may leave it as it was, or remove it. So may who writes v1beta1, where it stays when a conversion
// could not use it. Only TLS is not taken away so: a manifest of v1alpha1 that is older than it knows nothing of TLS, and v1beta1 can say that there
// is to be none. Where v1alpha1 does not show all of an object, nobody writes it as v1alpha1: the rest would be lost.

export const NOT_BY_HAND = `metadata.annotations[${BEYOND}] is written by conversions alone; leave it as it was read, remove it to drop what only v1beta1 can say, or write v1beta1`;

export const NOT_ALL_SHOWN = `metadata.annotations[${BEYOND}] is "${TOO_LARGE}": v1alpha1 does not show all that the object says, and would drop the rest; write v1beta1`;

export const TLS_STAYS = `metadata.annotations[${BEYOND}] is missing, and spec.tls stands in it: without it the cluster would be one without TLS; leave it as it was read, or write v1beta1`;

const PLAIN_SIDE = '"(client|peer)":[{][^{}]*"provider":"None"[^{}]*[}]';
/** What says that there is no TLS on either side, whatever stands beside that: a side without a provider has no braces in it. */
const PLAIN = `"tls":[{][^{}]*${PLAIN_SIDE}[^{}]*${PLAIN_SIDE}[^{}]*[}]`;

/** The policy and its binding. It concerns everybody, and asks nobody. */
export function conversionPolicy(labels: Readonly<Record<string, string>>) {
  const annotation = (object: string) => `${object}.metadata.?annotations[?'${BEYOND}']`;
  return admissionPolicyNamed(`${OPERATOR}-conversion`, labels, {
    matchConstraints: {
      // As it was written: what conversions make of it is another thing.
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
        // The text is JSON, which is not read here: within its texts quotes are escaped. Who lets go of an object shall not be held up.
        expression: `request.kind.version != 'v1alpha1' || request.resource.resource != '${ETCD_CLUSTERS.plural}' || ${annotation("object")}.hasValue() || has(object.metadata.deletionTimestamp) || !${annotation("oldObject")}.orValue('').contains('"tls":{') || ${annotation("oldObject")}.orValue('').matches('${PLAIN}')`,
        message: TLS_STAYS,
        reason: "Invalid",
      },
    ],
  });
}
