/**
 * Reads the bodies of reviews. What all reviews under way may hold together is limited as well as each: many large ones
 * at once must not end the process. The bytes come straight from Node's stream; the web stream of a Request costs as
 * much as all the rest of a review.
 */
import { type Readable } from "node:stream";

/**
 * A review holds the object and the old object, each at most what the API server accepts in a request (3 MiB,
 * limitedReadBody of kube-apiserver), and about as much besides as fits into 1 MiB: user, options, kinds.
 */
export const bodyBytesMax = (3 + 3 + 1) * 1024 * 1024;

/** 64,000 reviews of usual size, or 36 of the largest; parsed they take a few times as much. */
const heldBytesMax = 256 * 1024 * 1024;

export type ReviewBody =
  | { readonly ok: true; readonly bytes: Buffer }
  /** "tooLarge": more than `bodyBytesMax`. "full": too many bytes of others. "broken": the client broke off. */
  | { readonly ok: false; readonly problem: "tooLarge" | "full" | "broken" };

export class ReviewBodies {
  #heldBytes = 0;

  /**
   * Never rejects. The bytes count as held until `release` is called with their length. A body that is refused is no
   * longer read; `declaredLength` (Content-Length, if any) refuses one before it is read at all.
   */
  read(source: Readable, declaredLength: string | undefined): Promise<ReviewBody> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const refuse = (problem: "tooLarge" | "full" | "broken"): void => {
        source.off("data", take);
        source.pause();
        this.release(bytes);
        bytes = 0;
        resolve({ ok: false, problem });
      };
      const take = (chunk: Buffer): void => {
        bytes += chunk.length;
        this.#heldBytes += chunk.length;
        chunks.push(chunk);
        if (bytes > bodyBytesMax) refuse("tooLarge");
        else if (this.#heldBytes > heldBytesMax) refuse("full");
      };
      if (declaredLength !== undefined && Number(declaredLength) > bodyBytesMax) return refuse("tooLarge");
      source.on("data", take);
      source.on("end", () => {
        const [first] = chunks;
        resolve({ ok: true, bytes: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks) });
      });
      // Without an end before it: the client has left.
      source.on("close", () => {
        if (!source.readableEnded) refuse("broken");
      });
      source.on("error", () => refuse("broken"));
    });
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}
