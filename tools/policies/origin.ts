import { cel } from './text.ts';

/**
 * Whether the object came with a mark of its origin. The record of field managers has what the client sent, also when a policy has its
 * second turn and the mark of its first one is there.
 */
export const isOriginSent = cel`
  object.metadata.?managedFields.orValue([]).exists(m,
    m.?fieldsV1[?'f:metadata'][?'f:annotations'][?'f:management.platform.sh/origin'].hasValue())
`;
