import type { z } from "zod";
import {
  CONDITION_TYPES,
  RESTORE_CONDITION_TYPES,
  ROLE_CONDITION_TYPES,
  type ScheduleConditionType,
  USER_CONDITION_TYPES,
} from "#api/conditions.ts";
import {
  CONVERSION_PATH,
  GROUP,
  MAX_BACKUP_NAME_LENGTH,
  MAX_CLUSTER_NAME_LENGTH,
  MAX_RESTORE_NAME_LENGTH,
  MAX_ROLE_NAME_LENGTH,
  MAX_SCHEDULE_NAME_LENGTH,
  MAX_USER_NAME_LENGTH,
  WEBHOOKS,
} from "#api/names.ts";
import { type JsonSchema, structural, withoutDescriptions } from "#api/structural.ts";
import { backupSpecSchema as backupSpecV1alpha1 } from "#api/v1alpha1/backup-schema.ts";
import { clusterSpecSchema as clusterSpecV1alpha1 } from "#api/v1alpha1/cluster-schema.ts";
import { peerSpecSchema as peerSpecV1alpha1 } from "#api/v1alpha1/peer-schema.ts";
import { restoreSpecSchema as restoreSpecV1alpha1 } from "#api/v1alpha1/restore-schema.ts";
import { scheduleSpecSchema as scheduleSpecV1alpha1 } from "#api/v1alpha1/schedule-schema.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { backupSpecSchema } from "#api/v1beta1/backup-schema.ts";
import { backupStatusSchema } from "#api/v1beta1/backup-status-schema.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";
import { restoreStatusSchema } from "#api/v1beta1/restore-status-schema.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ROLE_NAMES_RESERVED, roleSpecSchema, roleStatusSchema } from "#api/v1beta1/role-schema.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { scheduleSpecSchema } from "#api/v1beta1/schedule-schema.ts";
import { scheduleStatusSchema } from "#api/v1beta1/schedule-status-schema.ts";
import { clusterStatusSchema, peerStatusSchema } from "#api/v1beta1/status-schema.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { USER_NAMES_RESERVED, userSpecSchema, userStatusSchema } from "#api/v1beta1/user-schema.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";

interface Column {
  name: string;
  type: "string" | "integer" | "boolean" | "date";
  jsonPath: string;
  description?: string;
  priority?: number;
}

type Rules = readonly { rule: string; message: string }[];

interface Definition {
  resource: Resource<KubeObject>;
  description: string;
  shortNames: string[];
  /** Schema of the spec for each version. The version of `resource` is the stored one. */
  specs: Readonly<Record<string, z.ZodType>>;
  status: z.ZodType;
  columns: Column[];
  scale?: Record<string, string>;
  /** CEL rules at the root of the object. Only there `metadata.name` is accessible. */
  rules?: Rules;
}

const AGE: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

function conditionReason(type: keyof typeof CONDITION_TYPES | ScheduleConditionType): string {
  return `.status.conditions[?(@.type=="${type}")].reason`;
}

// The rules check the name one character at a time with `charAt`. The API server assumes no maximum length of a name, and
// refuses CEL rules of unbounded cost. So `matches`, `contains` and messages with the name would be refused. The error
// starts with the name anyway.
const NAME_CHARACTERS = [..."abcdefghijklmnopqrstuvwxyz0123456789-"].map((character) => `'${character}'`).join(",");
const NAME_PLACES = Array.from({ length: MAX_CLUSTER_NAME_LENGTH }, (_, place) => place).join(",");

const NAME_RULES = [
  {
    rule: `size(self.metadata.name) <= ${MAX_CLUSTER_NAME_LENGTH}`,
    message: `metadata.name is too long; it may have at most ${MAX_CLUSTER_NAME_LENGTH} characters, because NAME-client and the names of its pods must be DNS labels`,
  },
  {
    rule: `!(self.metadata.name.charAt(0) in ['0','1','2','3','4','5','6','7','8','9'])`,
    message: "metadata.name begins with a digit; it must begin with a letter, because Services are named after it",
  },
  {
    rule: `[${NAME_PLACES}].all(place, place >= size(self.metadata.name) || self.metadata.name.charAt(place) in [${NAME_CHARACTERS}])`,
    message: "metadata.name may hold only a-z, 0-9 and -, because Services are named after it",
  },
];

const DEFINITIONS: readonly Definition[] = [
  {
    resource: ETCD_CLUSTERS,
    description: "An etcd cluster: declare how many members it has, and the operator makes it so and keeps it so.",
    shortNames: ["etcd"],
    specs: { v1beta1: clusterSpecSchema, v1alpha1: clusterSpecV1alpha1 },
    status: clusterStatusSchema,
    columns: [
      {
        name: "Ready",
        type: "string",
        jsonPath: ".status.readyMembers",
        description: "Healthy voters / wanted voters",
      },
      {
        name: "Version",
        type: "string",
        jsonPath: ".status.version",
        description: "Oldest release that a member runs",
      },
      { name: "Leader", type: "string", jsonPath: ".status.leader" },
      { name: "Status", type: "string", jsonPath: conditionReason("Ready"), description: CONDITION_TYPES.Ready },
      { name: "Cluster ID", type: "string", jsonPath: ".status.identity.clusterID", priority: 1 },
      AGE,
    ],
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
    rules: NAME_RULES,
  },
  {
    resource: ETCD_PEERS,
    description:
      "One member of an etcd cluster. It is internal: the operator makes one for each member of an EtcdCluster, and its spec may change incompatibly in any release. Read only its status.",
    shortNames: ["etcdp"],
    specs: { v1beta1: peerSpecSchema, v1alpha1: peerSpecV1alpha1 },
    status: peerStatusSchema,
    columns: [
      { name: "Cluster", type: "string", jsonPath: ".spec.clusterName" },
      { name: "Version", type: "string", jsonPath: ".status.serverVersion" },
      { name: "Member ID", type: "string", jsonPath: ".spec.memberID" },
      { name: "Status", type: "string", jsonPath: conditionReason("Ready") },
      AGE,
    ],
  },
  {
    resource: ETCD_BACKUPS,
    description: "One snapshot of an etcd cluster, stored as one object with a manifest beside it.",
    shortNames: ["etcdb"],
    specs: { v1beta1: backupSpecSchema, v1alpha1: backupSpecV1alpha1 },
    status: backupStatusSchema,
    columns: [
      { name: "Phase", type: "string", jsonPath: ".status.phase" },
      { name: "Source", type: "string", jsonPath: ".status.source" },
      { name: "Bytes", type: "integer", jsonPath: ".status.object.bytes", description: "Size of the snapshot" },
      { name: "Revision", type: "string", jsonPath: ".status.object.revision", description: "Of etcd" },
      { name: "Object", type: "string", jsonPath: ".status.objectURL", priority: 1 },
      AGE,
    ],
    rules: [
      {
        rule: `size(self.metadata.name) <= ${MAX_BACKUP_NAME_LENGTH}`,
        message: `metadata.name is too long; it may have at most ${MAX_BACKUP_NAME_LENGTH} characters, because its Job and the Job's pods are named after it`,
      },
    ],
  },
  {
    resource: ETCD_BACKUP_SCHEDULES,
    description: "Makes EtcdBackups at regular times, and limits which of them are kept.",
    shortNames: ["etcdbs"],
    specs: { v1beta1: scheduleSpecSchema, v1alpha1: scheduleSpecV1alpha1 },
    status: scheduleStatusSchema,
    columns: [
      { name: "Schedule", type: "string", jsonPath: ".spec.schedule" },
      { name: "Suspend", type: "boolean", jsonPath: ".spec.suspend" },
      {
        name: "Last good",
        type: "date",
        jsonPath: ".status.lastSuccessful.creationTime",
        description: "Age of the latest completed backup",
      },
      {
        name: "Next",
        type: "string",
        jsonPath: ".status.nextScheduleTime",
        description: "When the next backup is due",
      },
      { name: "Status", type: "string", jsonPath: conditionReason("BackupReady") },
      AGE,
    ],
    rules: [
      {
        rule: `size(self.metadata.name) <= ${MAX_SCHEDULE_NAME_LENGTH}`,
        message: `metadata.name is too long; it may have at most ${MAX_SCHEDULE_NAME_LENGTH} characters, because its EtcdBackups are named after it and the time`,
      },
    ],
  },
  {
    resource: ETCD_RESTORES,
    description: "A new etcd cluster that is restored from a stored snapshot.",
    shortNames: ["etcdr"],
    specs: { v1beta1: restoreSpecSchema, v1alpha1: restoreSpecV1alpha1 },
    status: restoreStatusSchema,
    columns: [
      { name: "Phase", type: "string", jsonPath: ".status.phase" },
      { name: "Cluster", type: "string", jsonPath: ".status.clusterName" },
      { name: "Source", type: "string", jsonPath: ".status.source" },
      {
        name: "Reason",
        type: "string",
        jsonPath: `.status.conditions[?(@.type=="Complete")].reason`,
        description: RESTORE_CONDITION_TYPES.Complete,
      },
      { name: "Object", type: "string", jsonPath: ".status.objectURL", priority: 1 },
      AGE,
    ],
    rules: [
      {
        rule: `size(self.metadata.name) <= ${MAX_RESTORE_NAME_LENGTH}`,
        message: `metadata.name is too long; it may have at most ${MAX_RESTORE_NAME_LENGTH} characters, because a label of its Jobs has it`,
      },
    ],
  },
  {
    resource: ETCD_ROLES,
    description: "A role in etcd: which keys may be read and written by users that have it.",
    shortNames: ["etcdro"],
    specs: { v1beta1: roleSpecSchema },
    status: roleStatusSchema,
    columns: [
      { name: "Cluster", type: "string", jsonPath: ".spec.clusterRef.name" },
      { name: "Role", type: "string", jsonPath: ".status.roleName", description: "Its name in etcd" },
      { name: "Status", type: "string", jsonPath: conditionReason("Ready"), description: ROLE_CONDITION_TYPES.Ready },
      AGE,
    ],
    rules: nameRules(MAX_ROLE_NAME_LENGTH, "roleName", ROLE_NAMES_RESERVED),
  },
  {
    resource: ETCD_USERS,
    description: "A user in etcd, and the Secret by which an application connects as that user.",
    shortNames: ["etcdu"],
    specs: { v1beta1: userSpecSchema },
    status: userStatusSchema,
    columns: [
      { name: "Cluster", type: "string", jsonPath: ".spec.clusterRef.name" },
      { name: "User", type: "string", jsonPath: ".status.userName", description: "Its name in etcd" },
      { name: "Binding", type: "string", jsonPath: ".status.binding.name", description: "Secret for the application" },
      { name: "Status", type: "string", jsonPath: conditionReason("Ready"), description: USER_CONDITION_TYPES.Ready },
      { name: "Rotated", type: "date", jsonPath: ".status.lastRotationTime", priority: 1 },
      AGE,
    ],
    rules: nameRules(MAX_USER_NAME_LENGTH, "userName", USER_NAMES_RESERVED),
  },
];

/**
 * @param field field of the spec that overrides metadata.name as the name in etcd
 * @param reserved names that users may not take, each with the reason
 */
function nameRules(longest: number, field: string, reserved: Readonly<Record<string, string>>) {
  return [
    {
      rule: `size(self.metadata.name) <= ${longest}`,
      message: `metadata.name is too long; it may have at most ${longest} characters, because it is the name in etcd, and stands in labels`,
    },
    ...Object.entries(reserved).map(([name, why]) => ({
      rule: `has(self.spec.${field}) || self.metadata.name != '${name}'`,
      message: `metadata.name is ${name}, and there is no spec.${field}; it must be another name: ${why}`,
    })),
  ];
}

/**
 * Every CustomResourceDefinition of the operator, ready to be applied or written as a file.
 * @param operatorNamespace namespace of the operator and its conversion webhook
 */
export function customResourceDefinitions(operatorNamespace: string): readonly KubeObject[] {
  return DEFINITIONS.map((definition) => definitionOf(definition, operatorNamespace));
}

function definitionOf(definition: Definition, operatorNamespace: string): KubeObject {
  const { resource, specs } = definition;
  const object = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.kind.toLowerCase(),
        shortNames: definition.shortNames,
        // No `categories`: `kubectl delete all --all` would delete every object of the category "all".
      },
      versions: Object.entries(specs).map(([name, spec]) => versionOf(definition, name, spec)),
      // A kind with one version needs no conversion.
      conversion: Object.keys(specs).length === 1 ? { strategy: "None" } : conversionBy(operatorNamespace),
    },
  };
  return object as unknown as KubeObject;
}

/** Leaves out `caBundle`, which the operator writes. */
function conversionBy(operatorNamespace: string) {
  const service = { name: WEBHOOKS, namespace: operatorNamespace, port: 443, path: CONVERSION_PATH };
  return { strategy: "Webhook", webhook: { clientConfig: { service }, conversionReviewVersions: ["v1"] } };
}

function versionOf(definition: Definition, name: string, spec: z.ZodType) {
  const rules = definition.rules ?? [];
  const isStored = name === definition.resource.version;
  const status = structural(definition.status);
  const schema: JsonSchema = {
    type: "object",
    description: definition.description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: structural(spec),
      status: {
        ...(isStored
          ? status
          : {
              ...withoutDescriptions(status),
              description: `As in ${definition.resource.version}, which describes it.`,
            }),
        // An object that the operator has not seen yet: tools compare observedGeneration with metadata.generation.
        default: { observedGeneration: 0 },
      },
    },
    ...(rules.length === 0 ? {} : { "x-kubernetes-validations": rules }),
  };
  return {
    name,
    served: true,
    storage: isStored,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {}, ...(definition.scale === undefined ? {} : { scale: definition.scale }) },
    additionalPrinterColumns: definition.columns,
  };
}
