import { converted, type Version } from "#api/conversion.ts";
import { CONVERSION_PATH, GROUP } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { quoted } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import type { BodyLimits } from "#webhooks/body.ts";
import { conversionFailure, conversionRequest, conversionReview } from "#webhooks/conversion-review.ts";
import type { WebhookElsewhere } from "#webhooks/server.ts";
import { invalid, record } from "#webhooks/untrusted.ts";

// When is this called?
//   For each object that is read, written or watched in another version than its stored one. Today's API servers send
//   one request per object, though the protocol allows a list. A written object has passed the schema of its version; a
//   stored one passed that of its time. The result of a conversion is not validated against a schema, so it is checked
//   here (api/shape.ts).
// What if it fails?
//   Then the API request fails, even a list of all objects. So everything that an API server can store is converted,
//   and only other input fails. Nothing is ever stored half converted.

/**
 * Limits of a request: whatever an API server stores must be converted, or lists of all objects fail. That is up to 1.5
 * MiB, in which JSON has at most 1.1 million parts (`[],[],…`) and 10,000 levels. A list of 500 objects, the usual page
 * size, may have 8 KiB each.
 */
const LIMITS: BodyLimits = { maxBytes: 4 * 1024 * 1024, maxParts: 1_200_000, maxDepth: 10_100, bytesOfPart: 0 };

const VERSIONS: readonly Version[] = ["v1alpha1", "v1beta1"];
const API_VERSIONS = VERSIONS.map((version) => `${GROUP}/${version}`);
const KINDS = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES].map(({ kind }) => kind);

type Json = Readonly<Record<string, unknown>>;

/** The conversion webhook. Another thread answers its requests. */
export function conversion(answerBytes: WebhookElsewhere["answerBytes"]): WebhookElsewhere {
  return { path: CONVERSION_PATH, limits: LIMITS, answerBytes };
}

/**
 * Converts objects from one API version to another. Pure, without any requests.
 * @param body a ConversionReview, if the client is an API server @returns the ConversionReview with its response
 * @throws OperatorError InvalidSpec
 */
export function answerConversion(body: unknown, log: Pick<Log, "info">): object {
  const { uid, desiredAPIVersion, objects } = conversionRequest(body);
  const to = versionIn(desiredAPIVersion, "request.desiredAPIVersion");
  const results: Json[] = [];
  for (const [index, object] of objects.entries()) {
    try {
      results.push(inVersion(object, to, `request.objects[${index}]`));
    } catch (thrown) {
      const message = `${nameOf(object, index)}: ${thrown instanceof Error ? thrown.message : thrown}`;
      log.info({ because: message }, "could not convert an object");
      return conversionFailure(uid, message);
    }
  }
  return conversionReview(uid, results);
}

function inVersion(object: unknown, to: Version, where: string): Json {
  const whole = record(object, where);
  versionIn(whole.apiVersion, "apiVersion");
  const { kind } = whole;
  if (typeof kind !== "string" || !KINDS.includes(kind)) {
    throw invalid(`kind is ${quoted(kind)}; it must be ${KINDS.join(" or ")}`);
  }
  record(whole.metadata, "metadata");
  return converted(whole, kind, to, GROUP);
}

function versionIn(apiVersion: unknown, where: string): Version {
  const version = VERSIONS[API_VERSIONS.indexOf(String(apiVersion))];
  if (typeof apiVersion === "string" && version !== undefined) return version;
  throw invalid(`${where} is ${quoted(apiVersion)}; it must be ${API_VERSIONS.join(" or ")}`);
}

/** Name of an unvalidated object, for a message. */
function nameOf(object: unknown, index: number): string {
  const { kind, metadata } = (object ?? {}) as { kind?: unknown; metadata?: { namespace?: unknown; name?: unknown } };
  const { namespace, name } = metadata ?? {};
  if (typeof kind !== "string" || typeof name !== "string") return `object ${index}`;
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`.slice(0, 400);
}
