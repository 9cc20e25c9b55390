import { OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import {
  type AnyResource,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type KubeObject,
  resourceName,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
  type ValidatingWebhookConfiguration,
} from "#kube/kinds.ts";
import type { BundleHolder } from "#webhooks/certificate/keeper.ts";

const ADMISSION: BundleHolder<ValidatingWebhookConfiguration> = {
  resource: VALIDATING_WEBHOOK_CONFIGURATIONS,
  name: OPERATOR,
  edited: (object, change) => ({
    ...object,
    webhooks: object.webhooks?.map((webhook) => ({ ...webhook, clientConfig: change(webhook.clientConfig) })) ?? [],
  }),
};

/** The definition of a kind with conversion. A definition of an earlier operator release has no conversion webhook. */
function conversionOf(converted: AnyResource): BundleHolder<CustomResourceDefinition> {
  return {
    resource: CUSTOM_RESOURCE_DEFINITIONS,
    name: resourceName(converted),
    edited: (object, change) => {
      const { conversion } = object.spec;
      const { webhook } = conversion ?? {};
      if (conversion === undefined || webhook?.clientConfig === undefined) return object;
      const edited = { ...conversion, webhook: { ...webhook, clientConfig: change(webhook.clientConfig) } };
      return { ...object, spec: { ...object.spec, conversion: edited } };
    },
  };
}

/**
 * Every object that configures the API server to call the webhooks. Conversions first: without them no object can be
 * read.
 */
export const BUNDLE_HOLDERS = [
  conversionOf(ETCD_CLUSTERS),
  conversionOf(ETCD_PEERS),
  conversionOf(ETCD_BACKUPS),
  conversionOf(ETCD_BACKUP_SCHEDULES),
  conversionOf(ETCD_RESTORES),
  ADMISSION,
] as unknown as readonly BundleHolder<KubeObject>[];
