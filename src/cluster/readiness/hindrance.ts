import type { Reason } from "#api/conditions.ts";
import { hindranceOf } from "#cluster/auth/hindrance.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { haveAllFailed } from "#cluster/update/first-backup.ts";
import { tlsReady } from "#cluster-tls/check/tls-ready.ts";
import type { Report } from "#runtime/decide.ts";
import type { Case } from "./verdict.ts";

interface Hindrance {
  readonly reason: Reason;
  readonly message: string;
}

/** Rules and guards with waits and notices that last until a person acts; each has its own reason. */
export const REASON_OF_RULE: Readonly<Record<string, Reason>> = {
  "name-taken": "NameTaken",
  "claims-unclear": "ClaimTaken",
  "identity-is-here": "StepRefused",
  "restore-failed": "RestoreFailed",
  "no-version-path": "NoVersionPath",
  "refused-spec": "SpecRefused",
  "runnable-only": "SpecRefused",
  "roll-back-member": "UpdateStopped",
  "dying-claim-is-held": "StepRefused",
  "no-space": "NoSpaceAlarm",
  "headless-service": "NameTaken",
  "client-service": "NameTaken",
  "disruption-budget": "NameTaken",
  "network-policy": "NameTaken",
  "pod-monitor": "NameTaken",
  "issue-ca": "CertificateInvalid",
  "issue-certificate": "CertificateInvalid",
  "trust-map": "NameTaken",
  "certificate-request": "IssuerFailed",
};

/** Rules with notices that leave no work and block nothing: a condition of its own, or the status, reports them. */
export const ONLY_REPORTED: ReadonlySet<string> = new Set([
  "certificate-expires",
  "ca-rotation-blocked",
  "secret-access-missing",
  "unmanaged-names",
  "second-budget",
]);

/**
 * Rules that return only steps: a wait with their name means that their step is refused or has no effect, and holds
 * everything below.
 */
const HOLDING = new Set(CLUSTER_RULES.flatMap(({ name, holds }) => (holds ? [name] : [])));

/** An obstacle to the plan that only a person can remove: the cluster is not progressing then. */
export function blocked({ plan, snapshot }: Pick<Case, "plan" | "snapshot">): Hindrance | undefined {
  if (plan.next !== "wait") return undefined;
  if (plan.rule === "await-certificates") return plan.warn ? ofCertificates({ snapshot, plan }) : undefined;
  // While a backup runs, or is about to be created, no person has to act.
  if (plan.rule === "backup-first")
    return haveAllFailed(snapshot) ? { reason: "BackupFailed", message: plan.because } : undefined;
  if (HOLDING.has(plan.rule)) return { reason: "StepRefused", message: `${plan.rule}: ${plan.because}` };
  const reason = REASON_OF_RULE[plan.rule];
  return reason === undefined ? undefined : { reason, message: plan.because };
}

/** TLSReady has a reason for each problem with certificates. */
function ofCertificates(input: Pick<Case, "plan" | "snapshot">): Hindrance | undefined {
  const { reason, message } = tlsReady(input) ?? {};
  return reason === undefined || message === undefined ? undefined : { reason, message };
}

/** What is wanted and not done now, for whatever reason. */
export function notDone({ plan }: Pick<Case, "plan">): readonly Report[] {
  return (plan.reports ?? []).filter(({ rule }) => !ONLY_REPORTED.has(rule));
}

/**
 * What is wanted and missing because its step is refused, has no effect, or its name is taken; other work continues.
 */
export function missing(input: Pick<Case, "plan" | "snapshot">): Hindrance | undefined {
  const lacking = notDone(input).filter(({ is }) => is !== "delayed");
  const lacks = lacking.map(({ rule, because, code, is }) => ({
    reason: reasonOf(is === "notice" ? reasonOfNotice(rule, input) : undefined, code),
    message: is === "notice" ? because : `${rule}: ${because}`,
  }));
  const [first] = lacks;
  return first === undefined
    ? undefined
    : { reason: first.reason, message: lacks.map(({ message }) => message).join("; ") };
}

/** Problems with users of etcd and with certificates have the reasons of AuthReady and TLSReady. */
function reasonOfNotice(rule: string, input: Pick<Case, "plan" | "snapshot">): Reason | undefined {
  if (rule === "administrators") return hindranceOf(input.snapshot)?.reason;
  if (rule !== "await-certificates") return REASON_OF_RULE[rule];
  const verdict = tlsReady(input);
  return verdict?.reason ?? "CertificatesPending";
}

function reasonOf(own: Reason | undefined, code: string | undefined): Reason {
  return own ?? (code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused");
}
