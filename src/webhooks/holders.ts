import { OPERATOR } from "#api/names.ts";
import {
  type KubeObject,
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

/** Every object by which the API server is made to call us. */
export const BUNDLE_HOLDERS = [ADMISSION] as unknown as readonly BundleHolder<KubeObject>[];
