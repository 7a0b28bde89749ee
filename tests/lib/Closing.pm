# SPDX-License-Identifier: GPL-2.0
# A formatter for `prove`. It prints the usual console output, the reason of each skipped test, each
# failed test, and the closing line "N passed, N failed, N skipped".
package Closing;

use strict;
use warnings;
use parent 'TAP::Formatter::Console';

my %reasons;

sub open_test {
	my ($self, $test, $parser) = @_;

	$parser->callback(
		test => sub {
			my ($result) = @_;
			$reasons{$test}{ $result->explanation || 'no reason given' }++
			  if $result->has_skip;
		}
	);
	return $self->SUPER::open_test($test, $parser);
}

# A test program that dies, or ends without its plan, counts as one failure even if no result
# failed.
sub count {
	my ($parser) = @_;
	my $skipped = $parser->skip_all ? 1 : $parser->skipped;
	my $failed = $parser->failed;

	$failed = 1 if !$failed && $parser->has_problems;
	return ($parser->passed - $parser->skipped, $failed, $skipped);
}

sub summary {
	my ($self, $aggregate, $interrupted) = @_;
	my @sum = (0, 0, 0);

	$self->SUPER::summary($aggregate, $interrupted);
	for my $parser ($aggregate->parsers) {
		my @counts = count($parser);
		$sum[$_] += $counts[$_] for 0 .. 2;
	}
	for my $test (sort keys %reasons) {
		printf "skipped: %s: %d x %s\n", $test, $reasons{$test}{$_}, $_
		  for sort keys %{ $reasons{$test} };
	}
	for my $test ($aggregate->descriptions) {
		my ($parser) = $aggregate->parsers($test);
		print "failed: $test\n" if $parser->has_problems;
	}
	printf "%d passed, %d failed, %d skipped\n", @sum;
}

1;
