import { OperatorError } from "#base/error.ts";
import type { KubeClient } from "./client.ts";
import type { CallOptions } from "./options.ts";

// Authentication and authorization of requests to the operator's own endpoints, such as `/metrics`.
// The API server decides both: a TokenReview checks the token, a SubjectAccessReview the permission.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#token-review-api

/** User that a bearer token belongs to, as TokenReview reports it. */
export interface Bearer {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const TOKEN_REVIEWS = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" };
const ACCESS_REVIEWS = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };

/** Authenticates a token. @returns undefined when the API server does not accept it @throws OperatorError */
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

/** Whether the user has this verb on a non-resource path, such as `/metrics`. @throws OperatorError */
export async function mayDo(
  kube: Pick<KubeClient, "raw">,
  { username, uid, groups, extra }: Bearer,
  nonResourceAttributes: { readonly path: string; readonly verb: string },
  options: CallOptions,
): Promise<boolean> {
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  return (await reviewed(kube, ACCESS_REVIEWS, "subjectaccessreviews", spec, options)).allowed === true;
}

/** Creates a review. @returns its status. Errors quote nothing of the answer, since it contains the token. */
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
    // The error below does not quote the body.
  }
  throw new OperatorError("KubeUnavailable", `POST ${path}: the answer is no ${kind} with a status`);
}
