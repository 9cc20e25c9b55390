import { type ErrorCode, type KnownObject, OperatorError } from "#base/error.ts";

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
export interface Status {
  readonly kind: "Status";
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly field?: string; readonly message?: string }[];
  };
}

/** Error answer of the server to one call. */
export interface Refusal {
  /** Description of the call, such as "delete pods default/x". */
  readonly call: string;
  readonly httpCode: number;
  /** Absent when the body was not a Status: a proxy or a wrong path answered. */
  readonly status: Status | undefined;
  /** The start of the body when there is no Status. */
  readonly text?: string;
  /** From the Retry-After header, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Object that the call was to change, as last seen; absent for reads and creates. */
  readonly known?: KnownObject;
}

/**
 * Maps an HTTP error answer to an OperatorError:
 *
 * | HTTP | reason | code |
 * | --- | --- | --- |
 * | 400, 405, 406, 413, 415, 422 | any | KubeInvalid, but KubeConflict when the server refused another metadata.uid |
 * | 401 | any | KubeForbidden: the call was already repeated with credentials read again |
 * | 403 | authorizer | KubeForbidden |
 * | 403 | admission: quota, pod security, terminating namespace | KubeInvalid |
 * | 404 | NotFound | KubeNotFound |
 * | 404 | none | KubeUnavailable: the kind is not served, so nothing is known about the object |
 * | 409 | AlreadyExists | KubeAlreadyExists |
 * | 409 | any other | KubeConflict |
 * | 410 | any | KubeExpired |
 * | 429 | any | KubeThrottled |
 * | 5xx and any other | any | KubeUnavailable |
 *
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#http-status-codes
 */
export function fromRefusal(refusal: Refusal): OperatorError {
  const code = codeOf(refusal);
  const retryAfterMs = refusal.retryAfterMs ?? secondsToMs(refusal.status?.details?.retryAfterSeconds);
  return new OperatorError(code, messageOf(refusal), {
    cause: refusal.status,
    ...(code === "KubeThrottled" && retryAfterMs !== undefined ? { retryAfterMs } : {}),
    ...(isOfState(code) && refusal.known !== undefined ? { known: refusal.known } : {}),
  });
}

/** Whether the code means that the object has changed since it was read, or is gone. */
function isOfState(code: ErrorCode): boolean {
  return code === "KubeConflict" || code === "KubeNotFound";
}

function codeOf({ httpCode, status }: Refusal): ErrorCode {
  switch (httpCode) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return isUidMismatch(status) ? "KubeConflict" : "KubeInvalid";
    case 401:
      return "KubeForbidden";
    case 403:
      return isAdmission(status) ? "KubeInvalid" : "KubeForbidden";
    case 404:
      return status?.reason === "NotFound" && status.details?.name !== undefined ? "KubeNotFound" : "KubeUnavailable";
    case 409:
      return status?.reason === "AlreadyExists" ? "KubeAlreadyExists" : "KubeConflict";
    case 410:
      return "KubeExpired";
    case 429:
      return "KubeThrottled";
    default:
      return "KubeUnavailable";
  }
}

/**
 * Whether a 403 came from admission (quota, pod security). Authorizer and admission both answer with reason Forbidden;
 * only the authorizer's message contains `User "x" cannot …`. Only this function and `missingRight` decide by message
 * text, and a wrong guess changes only the advice to the user.
 * https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/handlers/responsewriters/errors.go
 */
function isAdmission(status: Status | undefined): boolean {
  return status?.reason === "Forbidden" && !/User "[^"]*" cannot /.test(status.message ?? "");
}

/** Permission that an account lacks in a namespace. */
export interface MissingRight {
  readonly account: string;
  readonly verb: string;
  readonly resource: string;
  readonly group: string;
  readonly namespace: string;
}

/** Missing permission by the authorizer's message; undefined for any other message. @param message of a refusal */
export function missingRight(message: string): MissingRight | undefined {
  const [, account, verb, resource, group, namespace] =
    /User "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)" in the namespace "([^"]*)"/.exec(message) ??
    [];
  if (account === undefined || verb === undefined || resource === undefined) return undefined;
  return group === undefined || namespace === undefined ? undefined : { account, verb, resource, group, namespace };
}

/**
 * Whether a precondition on the uid failed. The server refuses a patch with another metadata.uid as a change of an
 * immutable field.
 */
function isUidMismatch(status: Status | undefined): boolean {
  return status?.details?.causes?.some((cause) => cause.field === "metadata.uid") === true;
}

/** Whether a create was refused because its namespace is terminating. */
export function isNamespaceGoing(thrown: unknown): boolean {
  if (!(thrown instanceof OperatorError) || thrown.code !== "KubeInvalid" || !isStatus(thrown.cause)) return false;
  return thrown.cause.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
}

function messageOf({ call, httpCode, status, text }: Refusal): string {
  const said = status?.message ?? (text === undefined || text.trim() === "" ? "no explanation" : text.trim());
  const reason = status?.reason === undefined || status.reason === "" ? "" : ` ${status.reason}`;
  return `${call}: ${said} (HTTP ${httpCode}${reason})`;
}

/** The Status in a body, or undefined when the body is something else. */
export function parseStatus(body: string): Status | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isStatus(parsed) ? parsed : undefined;
  } catch {
    return undefined; // not JSON: HTML of a proxy, or the server's own "404 page not found"
  }
}

export function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "Status";
}

/**
 * Longest Retry-After that is honoured, in milliseconds. kube-apiserver sends seconds. A longer one, from a proxy or a
 * faulty webhook, must not delay a lease or a cluster for hours.
 */
const MAX_RETRY_AFTER_MS = 60_000;

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS);
}

/**
 * A Retry-After header in milliseconds, at most a minute. Only seconds are supported, as the API server sends them;
 * anything else gives undefined.
 * https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^[0-9]+$/.test(header) ? secondsToMs(Number(header)) : undefined;
}
