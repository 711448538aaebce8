import { randomUUID } from 'node:crypto';

/** One end of the channel between the development launcher and a process that it started. */
export interface Link {
  send(message: object): void;
  /** @returns a function that removes the listener */
  onMessage(listener: (message: unknown) => void): () => void;
}

/** `kill`: the launcher ends the media process that carries the call. `carries`: the media process says whether it does. */
type Question = 'kill' | 'carries';

/** The end of a role; undefined if no launcher started this process. */
export function linkToLauncher(role: NodeJS.Process): Link | undefined {
  if (role.send === undefined) return undefined;
  return {
    send: (message) => void role.send?.(message),
    onMessage(listener) {
      role.on('message', listener);
      return () => role.off('message', listener);
    },
  };
}

/** Asks the other end about a call. Returns false without an answer. */
export function ask(link: Link, question: Question, callId: string, withinMs: number): Promise<boolean> {
  const id = randomUUID();
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(false), withinMs);
    const forget = link.onMessage((message) => {
      const { answerTo, isSo } = message as { answerTo?: unknown; isSo?: unknown };
      if (answerTo === id) settle(isSo === true);
    });
    const settle = (isSo: boolean) => {
      clearTimeout(timer);
      forget();
      resolve(isSo);
    };
    link.send({ question, callId, id });
  });
}

/** Answers the questions of the other end. */
export function answer(link: Link, question: Question, find: (callId: string) => boolean | Promise<boolean>): void {
  link.onMessage((message) => {
    const asked = message as { question?: unknown; callId?: unknown; id?: unknown };
    const { callId, id } = asked;
    if (asked.question !== question || typeof callId !== 'string') return;
    void Promise.resolve(find(callId)).then((isSo) => link.send({ answerTo: id, isSo }));
  });
}
