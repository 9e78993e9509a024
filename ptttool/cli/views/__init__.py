"""The output of commands for people: tables, trees and lines."""
