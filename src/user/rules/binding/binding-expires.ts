import { lifeOf } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { isLate } from "#certificates/late.ts";
import { isOverdue, requestWords } from "#certificates/request.ts";
import { notice } from "#runtime/decide.ts";
import { ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/**
 * Notices that the binding's certificate is overdue for renewal, or that cert-manager fails to renew it. All other
 * rules go on.
 */
export const bindingExpires: UserRule = {
  name: "binding-expires",
  decide(snapshot) {
    const notices = [...endingOf(snapshot), ...renewalTrouble(snapshot)];
    return notices.length === 0 ? undefined : notice("binding-expires", notices.join("; "));
  },
};

function endingOf({ user, cluster, binding, takenAtMs }: UserSnapshot): readonly string[] {
  const own = ownBinding({ user, binding });
  if (own?.certificate === undefined || cluster === undefined) return [];
  const { notAfterMs: endsMs } = own.certificate;
  if (endsMs === 0 || !isLate(own.certificate, lifeOf(cluster.spec, "client"), takenAtMs)) return [];
  const verb = endsMs <= takenAtMs ? "expired" : "expires";
  return [`the certificate in Secret ${own.name} ${verb} at ${rfc3339(endsMs)} and was not renewed in time`];
}

/** A renewal that cert-manager should have done and has not. */
function renewalTrouble(snapshot: UserSnapshot): readonly string[] {
  const { request, takenAtMs } = snapshot;
  if (request.is !== "present" || ownBinding(snapshot)?.certificate === undefined) return [];
  if (!isOverdue(request.value, takenAtMs)) return [];
  return [`Secret ${request.value.metadata.name} is not renewed: ${requestWords(request.value)}`];
}
