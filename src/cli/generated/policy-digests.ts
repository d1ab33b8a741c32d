// Generated from tools/policies/index.ts by `npm run generate`. Do not edit.

export const policyVersion = 9;

/** Of the spec of every policy and binding of `config/admission`. */
export const policyDigests: Readonly<Record<string, string>> = {
  'MutatingAdmissionPolicy/latchkey-requester': '55e4436d37835454',
  'MutatingAdmissionPolicyBinding/latchkey-requester': 'd1e34292995f3fb0',
  'ValidatingAdmissionPolicy/latchkey-requester-integrity': '8fc72323af9a2bb3',
  'ValidatingAdmissionPolicyBinding/latchkey-requester-integrity': 'b82f9ac117f2f04b',
  'MutatingAdmissionPolicy/latchkey-kept-fields': 'd141e62a8f2b1809',
  'MutatingAdmissionPolicyBinding/latchkey-kept-fields': '41bd8ed7231726e1',
  'ValidatingAdmissionPolicy/latchkey-last-applied': '86adc122e4491abd',
  'ValidatingAdmissionPolicyBinding/latchkey-last-applied': '8f90e6c152732bca',
  'ValidatingAdmissionPolicy/latchkey-status': '769f15457e0908d1',
  'ValidatingAdmissionPolicyBinding/latchkey-status': '068584534b6822af',
  'ValidatingAdmissionPolicy/latchkey-dry-run-delete': 'c39a8ef768255ae3',
  'ValidatingAdmissionPolicyBinding/latchkey-dry-run-delete': 'b1c23901920d38d7',
  'ValidatingAdmissionPolicy/latchkey-delegation': '409103d69b18e011',
  'ValidatingAdmissionPolicyBinding/latchkey-delegation': '117f1977273ef8df',
  'ValidatingAdmissionPolicy/latchkey-secret-reference': '2fa962f4c6be0808',
  'ValidatingAdmissionPolicyBinding/latchkey-secret-reference': '063a16bd74bc6ea5',
  'ValidatingAdmissionPolicy/latchkey-key-delivery': '88cdea29a482ac62',
  'ValidatingAdmissionPolicyBinding/latchkey-key-delivery': 'decfc46b135599e9',
  'ValidatingAdmissionPolicy/latchkey-target-secrets': 'a6af0300689506c0',
  'ValidatingAdmissionPolicyBinding/latchkey-target-secrets': 'cec1c06830817554',
  'ValidatingAdmissionPolicy/latchkey-owner-references': '4d30b7b81118953a',
  'ValidatingAdmissionPolicyBinding/latchkey-owner-references': 'd2e9c997c097bda4',
  'ValidatingAdmissionPolicy/latchkey-object-size': 'a6e656a67959c742',
  'ValidatingAdmissionPolicyBinding/latchkey-object-size': 'd58eb7d6d33ae5c4',
  'MutatingAdmissionPolicy/latchkey-ownership': 'baa19aabd91a1651',
  'MutatingAdmissionPolicyBinding/latchkey-ownership': '86433831a5e557d6',
  'ValidatingAdmissionPolicy/latchkey-ownership': 'f990ff02a25e6902',
  'ValidatingAdmissionPolicyBinding/latchkey-ownership': '18fb0ad46122f1f8',
  'ValidatingAdmissionPolicy/latchkey-delete': '56bbb82896d5282b',
  'ValidatingAdmissionPolicyBinding/latchkey-delete': '4a922daca259bbb2',
  'ValidatingAdmissionPolicy/latchkey-system-objects': '877ac561ed85add8',
  'ValidatingAdmissionPolicyBinding/latchkey-system-objects': '1b47cd94f82ff3eb',
};
