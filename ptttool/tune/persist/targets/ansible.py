"""Ansible: a playbook that installs the rule of udev on other machines and sets the values there."""

from __future__ import annotations

import json

from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues, Target, attribute_path
from ptttool.tune.persist.targets.udev import PATH, rules

_SET = """\
test "$(cat "$TUNE_PATH")" = "$TUNE_VALUE" && exit 0
echo "$TUNE_VALUE" > "$TUNE_PATH"
test "$(cat "$TUNE_PATH")" = "$TUNE_VALUE" && echo changed
"""


class Ansible(Target):
    """A playbook."""

    name = "ansible"
    meaning = "a playbook of Ansible, which installs the rule of udev on hosts with the same PTT devices and sets the values"
    limits = "a host without one of the tune attributes fails before anything is written there; the hosts do not need ptttool"
    installable = False

    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        """Return the playbook."""
        settings = ((json.dumps(attribute_path(device, attribute)), value) for device, attribute, value in values)
        lines = [
            f"# Tune attributes of PTT devices: profile {values.profile}, by ptttool tune export --to ansible.",
            "---",
            f"- name: {json.dumps(f'Tune attributes of PTT devices, profile {values.profile}')}",
            "  hosts: all",
            "  become: true",
            "  gather_facts: false",
            "  vars:",
            "    ptttool_values:",
            *(f'      - {{path: {path}, value: "{value}"}}' for path, value in settings),
            "  tasks:",
            "    - name: The host has these tune attributes",
            "      ansible.builtin.stat:",
            '        path: "{{ item.path }}"',
            '      loop: "{{ ptttool_values }}"',
            "      loop_control:",
            '        label: "{{ item.path }}"',
            "      register: ptttool_found",
            "      failed_when: not ptttool_found.stat.exists",
            "    - name: Rule of udev, which sets them whenever the driver registers a device",
            "      ansible.builtin.copy:",
            f"        dest: {PATH}",
            "        owner: root",
            "        group: root",
            '        mode: "0644"',
            "        content: |",
            *(f"          {line}" for line in rules(values).splitlines()),
            "    - name: They have their values now",
            "      ansible.builtin.shell: |",
            *(f"        {line}" for line in _SET.splitlines()),
            "      environment:",
            '        TUNE_PATH: "{{ item.path }}"',
            '        TUNE_VALUE: "{{ item.value }}"',
            '      loop: "{{ ptttool_values }}"',
            "      loop_control:",
            '        label: "{{ item.path }}"',
            "      register: ptttool_set",
            "      changed_when: \"'changed' in ptttool_set.stdout\"",
            "",
        ]
        return (PermanentFile("ptttool-tune.yml", "\n".join(lines)),)

    def activation(self, values: PermanentValues) -> tuple[str, ...]:  # noqa: ARG002 - of the contract
        """Return the command that runs the playbook."""
        return ("ansible-playbook --inventory INVENTORY ptttool-tune.yml",)


TARGETS.add(Ansible.name, Ansible())
