/**
 * A client whose reads of single objects may come from a replica that lags behind. kube-apiserver reads them
 * consistently; a proxy that caches need not.
 */
import { type KubeClient } from "../../../../src/kube/kube-client.ts";

/** So many answers behind: the write before last and its reader are forgotten again. */
const lagAnswers = 3;

/** What the server has answered so far, to whichever client, in order. */
export type Answers = unknown[];

/** `isStale` is asked at each read of an object. Clients that share `answers` see the same past. */
export function withStaleReads(client: KubeClient, answers: Answers, isStale: () => boolean): KubeClient {
  return {
    cluster: client.cluster,
    async request(request) {
      const answer = await client.request(request);
      answers.push(structuredClone(answer));
      if (request.method !== "GET" || !isStale()) return answer;
      return structuredClone(answers[Math.max(0, answers.length - 1 - lagAnswers)]);
    },
    stream: (request, idleTimeoutMs) => client.stream(request, idleTimeoutMs),
    close: () => client.close(),
  };
}
