import {
  ApiException,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
} from "@kubernetes/client-node";
import type { Draft, KubeObject, Secret, Service } from "#kube/kinds.ts";

/** The official client with the same requests as ours, and answers in the format of the API. */
export interface Oracle {
  read(object: KubeObject): Promise<unknown>;
  listSecrets(namespace: string): Promise<{ items: { metadata: unknown }[]; resourceVersion: string | undefined }>;
  applyService(service: Draft<Service>, fieldManager: string): Promise<void>;
  /** Server-side apply of any object. @returns the refusal, or undefined */
  apply(object: object, fieldManager: string): Promise<string | undefined>;
  createSecret(secret: Draft<Secret>): Promise<void>;
}

export function oracleFor(kubeconfig: string): Oracle {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = KubernetesObjectApi.makeApiClient(config);
  return {
    async read({ apiVersion, kind, metadata: { name, namespace = "" } }) {
      return onTheWire(await api.read({ apiVersion, kind, metadata: { name, namespace } }));
    },
    async listSecrets(namespace) {
      const list = await api.list("v1", "Secret", namespace);
      return {
        items: onTheWire(list.items) as { metadata: unknown }[],
        resourceVersion: list.metadata?.resourceVersion,
      };
    },
    async applyService(service, fieldManager) {
      await api.patch(foreign(service), undefined, undefined, fieldManager, false, PatchStrategy.ServerSideApply);
    },
    async apply(object, fieldManager) {
      const send = api.patch(foreign(object), undefined, undefined, fieldManager, false, PatchStrategy.ServerSideApply);
      return await send.then(() => undefined, refusalOf);
    },
    async createSecret(secret) {
      await api.create(foreign(secret));
    },
  };
}

/** The API server's message in an error of the official client. */
function refusalOf(thrown: unknown): string {
  if (!(thrown instanceof ApiException)) throw thrown;
  return (JSON.parse(String(thrown.body)) as { readonly message: string }).message;
}

/** The official client turns times into Date; JSON turns them back, with milliseconds that the server did not send. */
function onTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('.000Z"', 'Z"'));
}

/** The official types require mutable arrays and Date; the JSON is the same. */
function foreign(draft: unknown): KubernetesObject {
  return draft as KubernetesObject;
}
