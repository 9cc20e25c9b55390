import { quoted } from "#base/json.ts";
import { expect, invalid, record, text } from "#webhooks/untrusted.ts";

// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-request-and-response

const API_VERSION = "apiextensions.k8s.io/v1";
const KIND = "ConversionReview";

type Json = Readonly<Record<string, unknown>>;

/** The request of a ConversionReview. */
export interface ConversionRequest {
  readonly uid: string;
  /** Group and version to which all objects are to be converted. */
  readonly desiredAPIVersion: string;
  /** Not validated: conversion comes before the schema. */
  readonly objects: readonly unknown[];
}

/** @throws OperatorError InvalidSpec when the body is not a ConversionReview with a request */
export function conversionRequest(body: unknown): ConversionRequest {
  const review = record(body, "the body");
  expect("apiVersion", review.apiVersion, API_VERSION);
  expect("kind", review.kind, KIND);
  const { uid, desiredAPIVersion, objects } = record(review.request, "request");
  if (!Array.isArray(objects)) throw invalid(`request.objects is ${quoted(objects)}; it must be a list`);
  return {
    uid: text(uid, "request.uid"),
    desiredAPIVersion: text(desiredAPIVersion, "request.desiredAPIVersion"),
    objects,
  };
}

/** The ConversionReview with the converted objects, in the order of the request. */
export function conversionReview(uid: string, convertedObjects: readonly Json[]): object {
  return reviewWith({ uid, convertedObjects, result: { status: "Success" } });
}

/** The ConversionReview with a failure. @param message for the client of the API server */
export function conversionFailure(uid: string, message: string): object {
  return reviewWith({ uid, convertedObjects: [], result: { status: "Failure", message } });
}

function reviewWith(response: object): object {
  return { apiVersion: API_VERSION, kind: KIND, response };
}
