import { OperatorError } from "#base/error.ts";
import type { KubeClient } from "./client.ts";
import type { CallOptions } from "./options.ts";

// Who asks us something, and what may they see? The API server knows both: it made their token, and it has their rights.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#token-review-api

/** Whom the API server takes the bearer of a token for. */
export interface Bearer {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const TOKEN_REVIEWS = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" };
const ACCESS_REVIEWS = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };

/** @returns undefined when the API server knows no such token @throws OperatorError as every call */
export async function bearerOf(
  kube: Pick<KubeClient, "raw">,
  token: string,
  options: CallOptions,
): Promise<Bearer | undefined> {
  const status = await reviewed(kube, TOKEN_REVIEWS, "tokenreviews", { token }, options);
  const user = status.user as Partial<Bearer> | undefined;
  if (status.authenticated !== true || typeof user?.username !== "string" || user.username === "") return undefined;
  return { ...user, username: user.username };
}

/** Whether the bearer may do this with a path that is no resource, such as `/metrics`. @throws OperatorError as every call */
export async function mayDo(
  kube: Pick<KubeClient, "raw">,
  { username, uid, groups, extra }: Bearer,
  nonResourceAttributes: { readonly path: string; readonly verb: string },
  options: CallOptions,
): Promise<boolean> {
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  return (await reviewed(kube, ACCESS_REVIEWS, "subjectaccessreviews", spec, options)).allowed === true;
}

/** @returns the status of the review; of its answer nothing is quoted, since it holds the token */
async function reviewed(
  kube: Pick<KubeClient, "raw">,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  plural: string,
  spec: object,
  options: CallOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const path = `/apis/${apiVersion}/${plural}`;
  const body = await kube.raw("POST", path, { ...options, body: { apiVersion, kind, spec } });
  try {
    const { status } = JSON.parse(body) as { readonly status?: unknown };
    if (typeof status === "object" && status !== null) return status as Readonly<Record<string, unknown>>;
  } catch {
    // It is told below, without a word of it.
  }
  throw new OperatorError("KubeUnavailable", `POST ${path}: the answer is no ${kind} with a status`);
}
