export interface Linked<Member> {
  previous: Member | undefined;
  next: Member | undefined;
}

/** First in, first out, and any member can leave from the middle. A member is in one list at a time. */
export class LinkedList<Member extends Linked<Member>> {
  #first: Member | undefined;
  #last: Member | undefined;

  get first(): Member | undefined {
    return this.#first;
  }

  get last(): Member | undefined {
    return this.#last;
  }

  append(member: Member): void {
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
  }

  remove(member: Member): void {
    const { previous, next } = member;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.previous = undefined;
    member.next = undefined;
  }
}
