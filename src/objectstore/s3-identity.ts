import type { S3ClientConfig } from "@aws-sdk/client-s3";
import { fromHttp } from "@aws-sdk/credential-provider-http";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { fromTokenFile } from "@aws-sdk/credential-provider-web-identity";
import { type Answer, AnswerError, networkFailure, textOf } from "./failure.ts";
import { s3Status } from "./s3-error.ts";

// The pod's own identity at Amazon: a web identity, a pod identity or the node's role.
// Why not only the library's default search?
//   It tries one source after the other and reports the failure of the last one. That hides an agent of the node that
//   is not up yet, and a missing token file.

type Provider = Extract<NonNullable<S3ClientConfig["credentials"]>, (...args: never[]) => unknown>;
/** Properties of the client, such as its region and connections, which the token service uses, too. */
type Caller = Parameters<Provider>[0];

/** Signs with the pod's identity; see `failureOf` for its AnswerErrors. */
export function podIdentity(): Provider {
  const find = source();
  return async (caller) => {
    try {
      return await find(caller);
    } catch (thrown) {
      const answer = failureOf(thrown);
      throw new AnswerError({ ...answer, text: `the pod's identity at Amazon: ${answer.text}` });
    }
  };
}

/** Retries are ours (patience.ts). */
function source(): (caller: Caller) => ReturnType<Provider> {
  const { env } = process;
  const isSet = (...names: readonly string[]) => names.some((name) => (env[name] ?? "") !== "");
  if (isSet("AWS_ACCESS_KEY_ID", "AWS_PROFILE")) return defaultProvider();
  if (isSet("AWS_WEB_IDENTITY_TOKEN_FILE") && isSet("AWS_ROLE_ARN")) {
    return fromTokenFile({ clientConfig: { maxAttempts: 1 } });
  }
  if (isSet("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    return async () => await fromHttp({ maxRetries: 0 })();
  }
  return defaultProvider();
}

/** Codes of Amazon's token service with a status below 500 for a failure that passes. */
const PASSING = /^(?:IDPCommunicationError|Throttling|TooManyRequests|RequestLimitExceeded|ServiceUnavailable)/;

function failureOf(thrown: unknown): Answer {
  const network = networkFailure(thrown);
  if (network !== undefined) return network;
  if (!(thrown instanceof Error)) return { reason: "Other", text: textOf(thrown) };
  const status = s3Status(thrown);
  if (status !== undefined) return tokenServiceFailure(thrown, status);
  if ("code" in thrown && thrown.code === "ENOENT") {
    return { reason: "WrongCredentials", text: thrown.message, mayPass: true };
  }
  return agentFailure(thrown);
}

function tokenServiceFailure({ name, message }: Error, status: number): Answer {
  // A validation error repeats the token.
  const text = `${name} (HTTP ${status})${name === "ValidationError" ? "" : `: ${message}`}`;
  const passes = status >= 500 || status === 429 || PASSING.test(name);
  return { reason: passes ? "Unreachable" : "WrongCredentials", text };
}

/** Failures of the node's agent, for which the library has only a text, and of the whole search. */
function agentFailure(thrown: Error): Answer {
  const { Code, Message } = thrown as { readonly Code?: string; readonly Message?: string };
  const detail = [Code, Message].filter((each) => each !== undefined).join(": ");
  const text = detail === "" ? thrown.message : `${thrown.message}, ${detail}`;
  const status = Number(/^Server responded with status: (\d+)/.exec(thrown.message)?.[1] ?? 0);
  if (status >= 500 || status === 429 || /^\w*Error: /.test(thrown.message)) return { reason: "Unreachable", text };
  const mayPass = status === 404 || /Could not load credentials/.test(thrown.message);
  return { reason: "WrongCredentials", text, mayPass };
}
