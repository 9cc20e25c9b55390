import { afterAll, beforeAll, vi } from "vitest";
import { type CustomResourceDefinition, NAMESPACES } from "#kit/tables/kinds.ts";
import type { KubeClient } from "#kube/client.ts";
import { type AnyResource, CUSTOM_RESOURCE_DEFINITIONS, type Draft, type KubeObject } from "#kube/kinds.ts";
import { crdManifests, operatorManifests } from "../../../scripts/manifests.ts";
import type { SecretsReach } from "../../../scripts/rights.ts";
import { type ApiServer, startApiServer } from "./apiserver.ts";
import { install } from "./webhooks-apiserver.ts";

// A real API server with the shipped manifests: our kinds only, or everything that a user installs.

const OPTIONS = { signal: new AbortController().signal };
/** A kind is served a moment after its definition is Established. */
const SERVED = { timeout: 30_000 };

/**
 * An API server with our kinds.
 * @param kinds that must be served before this returns
 */
export async function startWithKinds(kinds: readonly AnyResource[]): Promise<ApiServer> {
  const server = await startApiServer();
  for (const definition of crdManifests()) await define(server.client, definition);
  await served(server.client, kinds);
  return server;
}

/** Before all tests of the file an API server with these kinds is started, and after them it is stopped. */
export function serveKinds(kinds: readonly AnyResource[], use: (server: ApiServer) => void): void {
  let server: ApiServer | undefined;
  beforeAll(async () => {
    server = await startWithKinds(kinds);
    use(server);
  });
  afterAll(async () => await server?.stop());
}

export interface ShippedOptions {
  /** The namespace is created, too. */
  readonly namespace: string;
  /** Kinds that must be served before this returns. */
  readonly kinds?: readonly AnyResource[];
  /** Definitions of kinds of other projects. */
  readonly foreign?: readonly object[];
  /** Flags of the API server. */
  readonly flags?: readonly string[];
  /** Selects the manifests to install; by default all. */
  readonly isInstalled?: (manifest: { readonly kind: string }) => boolean;
  /** Where the operator may read and write Secrets of clusters; by default everywhere. */
  readonly secrets?: SecretsReach;
  /** The only namespaces that the operator watches; they are created, too. By default all. */
  readonly watched?: readonly string[];
}

/**
 * An API server with everything that a user installs, but without a running operator.
 * @returns clients with every right, and with the operator's
 */
export async function startShipped({
  namespace,
  kinds = [],
  foreign = [],
  flags = [],
  isInstalled = () => true,
  secrets = "everywhere",
  watched,
}: ShippedOptions): Promise<{ server: ApiServer; admin: KubeClient; operator: KubeClient }> {
  const server = await startApiServer(flags);
  const admin = server.client;
  for (const name of new Set([namespace, ...(watched ?? [])]))
    await admin.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, OPTIONS);
  const manifests = operatorManifests("operator:test", secrets, undefined, watched).filter(isInstalled);
  for (const manifest of [...crdManifests(), ...manifests]) await install(admin, manifest);
  for (const definition of foreign) await define(admin, definition);
  await served(admin, kinds);
  return { server, admin, operator: await server.clientFor("operator") };
}

async function define(admin: KubeClient, definition: object): Promise<void> {
  await admin.create(CUSTOM_RESOURCE_DEFINITIONS, definition as Draft<CustomResourceDefinition>, OPTIONS);
}

async function served(admin: KubeClient, kinds: readonly AnyResource[]): Promise<void> {
  for (const each of kinds)
    await vi.waitFor(() => admin.list<KubeObject>(each, { namespace: "default" }, OPTIONS), SERVED);
}
