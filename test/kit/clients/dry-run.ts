import { expect } from "vitest";
import { asOperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";
import { resourceOf } from "./kind-schemas.ts";
import type { Json } from "./spec-places.ts";

const DRY_RUN = { signal: new AbortController().signal, dryRun: true };

/** The spec of a new object as the API server would store it, or its refusal. */
export async function dryRun(kube: KubeClient, kind: string, spec: Json): Promise<Json | string> {
  const { group, version } = resourceOf(kind);
  const metadata = { namespace: "default", name: "dry-run" };
  const draft = { apiVersion: `${group}/${version}`, kind, metadata, spec };
  try {
    const object = await kube.create(resourceOf(kind), draft as Draft<KubeObject>, DRY_RUN);
    return (object as unknown as { readonly spec: Json }).spec;
  } catch (thrown) {
    const error = asOperatorError(thrown);
    expect(error.code, error.message).toBe("KubeInvalid");
    return error.message;
  }
}
